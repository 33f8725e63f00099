import { describe, expect, it } from 'vitest';
import { KnownObjects } from '../../../src/otlp/fast/request-scanner.ts';
import { Scanner } from '../../../src/otlp/fast/scanner.ts';

const RESOURCE = '{"attributes":[{"key":"service.name","value":{"stringValue":"a"}}]}';

function reader() {
  const known = new KnownObjects();
  const scanner = new Scanner();
  /** The text of a value with which a body begins, where it ended, and how many objects and lists it has. */
  return (body: string) => {
    scanner.open(Buffer.from(body));
    const text = known.textOf(scanner);
    return { text, at: scanner.at, structures: scanner.structures };
  };
}

describe('an object that was sent before', () => {
  it('is read as the first time, whatever follows in the body', () => {
    const read = reader();
    const first = read(`${RESOURCE},`);
    expect(first).toEqual({ text: RESOURCE, at: RESOURCE.length, structures: 4 });
    for (const behind of ['', '}', ' ,"scopeSpans":[]}', '{']) {
      expect(read(RESOURCE + behind)).toEqual(first);
    }
  });

  it('is another when a byte differs, also the last', () => {
    const read = reader();
    read(`${RESOURCE}}`);
    for (let at = 0; at < RESOURCE.length; at += 1) {
      const other = `${RESOURCE.slice(0, at)}b${RESOURCE.slice(at + 1)} }`;
      const fresh = reader();
      const said = (one: typeof read) => {
        try {
          return one(other);
        } catch (error) {
          return String(error);
        }
      };
      expect(said(read)).toEqual(said(fresh));
    }
  });

  it('is not what a body is cut off in', () => {
    const read = reader();
    read(`${RESOURCE}}`);
    for (let end = 0; end < RESOURCE.length; end += 1) {
      expect(() => read(RESOURCE.slice(0, end))).toThrow();
    }
  });

  it('is forgotten for later ones, and read again', () => {
    const read = reader();
    const objects = Array.from({ length: 20 }, (_, index) => `{"name":"${'é'.repeat(index)}"}`);
    for (const object of [...objects, ...objects]) expect(read(`${object}    `).text).toBe(object);
  });

  it('no value but an object is remembered', () => {
    const read = reader();
    expect(read('12,').text).toBe('12');
    expect(read('123,').text).toBe('123');
    expect(read('{},').text).toBe('{}');
    expect(read('null}').text).toBe('null');
  });
});
