import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createBudget } from '../../../../src/engine/surfaces/reader/budget.ts';
import {
  isText,
  stringsOf,
  textsOf,
  toPlain,
} from '../../../../src/engine/surfaces/reader/value-text.ts';

describe('toPlain', () => {
  it.each([
    ['bytes are no text', { $bytes: 'aGk=' }, null],
    ['a non-finite number is its name', { $double: 'NaN' }, 'NaN'],
    ['a doubled key is itself', { $$bytes: 'x', $$$a: 'y' }, { $bytes: 'x', $$a: 'y' }],
    ['all the way down', [{ a: [{ $bytes: 'aGk=' }, 1] }], [{ a: [null, 1] }]],
  ])('%s', (_name, stored, plain) => {
    expect(toPlain(stored)).toEqual(plain);
  });

  it('leaves nothing out, however long', () => {
    const long = Array.from({ length: 100_001 }, (_, index) => index);
    expect(toPlain([...long, 'x'])).toEqual([...long, 'x']);
  });
});

describe('textsOf', () => {
  it.each([
    ['plain text', 'hello', ['hello']],
    [
      'a structure: JSON, then its strings',
      { a: 'x', b: ['y', 1] },
      ['{"a":"x","b":["y",1]}', 'x\ny'],
    ],
    ['JSON as it was written', '{ "a" : "x" }', ['{ "a" : "x" }', 'x']],
    ['escapes resolved', '{"a":"l1\\nl2 \\u0065"}', ['{"a":"l1\nl2 e"}', 'l1\nl2 e']],
    ['escapes of a structure', { 'a\n': '"x"\n' }, ['{"a\n":""x"\n"}', 'a\n\n"x"\n\nx']],
    ['an escaped backslash is one', '{"a":"\\\\n\\\\"}', ['{"a":"\\n\\"}', '\\n\\']],
    [
      'code keeps its own escapes',
      { code: 'print("a\\n")' },
      ['{"code":"print("a\\n")"}', 'print("a\\n")'],
    ],
    [
      'JSON in JSON in JSON',
      JSON.stringify(JSON.stringify({ a: '"q"' })),
      ['"{"a":""q""}"', '{"a":""q""}', '"q"\nq'],
    ],
    ['a quoted text', '"hello"', ['"hello"', 'hello']],
    [
      'JSON inside a member',
      { args: '{"cmd":"ls"}' },
      ['{"args":"{"cmd":"ls"}"}', '{"cmd":"ls"}\nls'],
    ],
    [
      'escapes of JSON inside a member',
      { args: '{"cmd":"l1\\nl2"}' },
      ['{"args":"{"cmd":"l1\nl2"}"}', '{"cmd":"l1\nl2"}\nl1\nl2'],
    ],
    ['a cut JSON, and its strings', '{"a":"x\\ny', ['{"a":"x\ny', 'x\ny']],
    ['JSON that is cut in an escape', '{"a":"x\\ny\\u00', ['{"a":"x\ny', 'x\ny']],
    ['no JSON: as it is, and unescaped', '{a:"x\\ny', ['{a:"x\\ny', '{a:"x\ny']],
    ['a Python repr', "{'a': 'x'}", ["{'a': 'x'}"]],
    ['a number', 7, ['7']],
    ['a structure without strings', { a: 1 }, ['{"a":1}']],
    ['nothing', null, []],
    ['an empty structure', {}, []],
    ['an empty structure in a string', '{}', []],
    ['a redaction mark', '<REDACTED>', []],
    ['redaction marks inside', ['__REDACTED__', 'x'], ['["__REDACTED__","x"]', 'x']],
    ['base64 content', 'data:image/png;base64,AAAA', []],
  ])('%s', (_name, value, texts) => {
    expect(textsOf(value, createBudget(), 'tool_args').texts).toEqual(texts);
  });

  it('keeps only the ends of base64 inside a structure', () => {
    const data = 'Ab0+'.repeat(1000);
    const ends = `${data.slice(0, 256)}…${data.slice(-256)}`;
    const written = `{"text":"hi","data":"${ends}"}`;
    expect(textsOf({ text: 'hi', data: `${data}==` }, createBudget(), 'tool_args').texts).toEqual([
      written,
      `hi\n${ends}`,
    ]);
  });

  it('leaves JSON that is absurdly deep closed', () => {
    const deep = `${'['.repeat(5000)}"x"${']'.repeat(5000)}`;
    expect(textsOf(deep, createBudget(), 'tool_args').texts).toEqual([deep]);
  });

  it('never throws, and keeps every string of a structure', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const { texts } = textsOf(value as never, createBudget(), 'tool_args');
        const strings = stringsOf(value as never, createBudget());
        if (strings.length > 0 && typeof value === 'object')
          expect(texts).toContain(strings.join('\n'));
      }),
    );
    fc.assert(
      fc.property(
        fc.string(),
        (text) =>
          textsOf(text, createBudget(), 'tool_args').texts.length > 0 ||
          !isText(text) ||
          /^\s*["[{]/.test(text),
      ),
    );
  });
});
