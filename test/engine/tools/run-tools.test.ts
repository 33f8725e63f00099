/** Definitions of tools are found in the shapes that SDKs send, once, whatever a sender makes of them. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RUN_DEFINITION_CHARS_MAX, toolsOfRun } from '../../../src/engine/tools/run-tools.ts';
import type { JsonObject, JsonValue } from '../../../src/model/json.ts';
import {
  DESCRIPTION_CHARS_MAX,
  RUN_DEFINITIONS_MAX,
  SCHEMA_CHARS_MAX,
} from '../../../src/model/shown/tools.ts';
import { log, span } from '../steps.ts';

const PARAMETERS = { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] };
const SCHEMA = '{"properties":{"to":{"type":"string"}},"required":["to"],"type":"object"}';
const DESCRIBED = { name: 'send_mail', description: 'Sends a mail.' };
const json = (value: unknown): string => JSON.stringify(value);
const OPENAI = { type: 'function', function: { ...DESCRIBED, parameters: PARAMETERS } };

const toolsOf = (attributes: JsonObject, name = 'chat') => toolsOfRun([span({ name, attributes })]);
const shown = (attributes: JsonObject, name?: string) =>
  toolsOf(attributes, name).definitions.map(
    (one) => `${one.server}/${one.name}: ${one.description} ${one.schema}`,
  );

describe('every shape gives the same definition', () => {
  const cases: readonly (readonly [string, JsonObject])[] = [
    [
      'the semantic conventions, structured',
      { 'gen_ai.tool.definitions': [{ type: 'function', ...DESCRIBED, parameters: PARAMETERS }] },
    ],
    [
      'the semantic conventions, as JSON (Mastra, Pydantic AI, OpenLLMetry)',
      { 'gen_ai.tool.definitions': json([{ ...DESCRIBED, parameters: PARAMETERS }]) },
    ],
    [
      'Gemini CLI',
      {
        'gen_ai.tool.definitions': json([
          { functionDeclarations: [{ ...DESCRIBED, parametersJsonSchema: PARAMETERS }] },
        ]),
      },
    ],
    [
      'Anthropic',
      { 'gen_ai.tool.definitions': json([{ ...DESCRIBED, input_schema: PARAMETERS }]) },
    ],
    [
      'Bedrock',
      {
        'gen_ai.tool.definitions': json({
          tools: [{ toolSpec: { ...DESCRIBED, inputSchema: PARAMETERS } }],
        }),
      },
    ],
    [
      'the AI SDK',
      {
        'ai.prompt.tools': [json({ type: 'function', ...DESCRIBED, inputSchema: PARAMETERS })],
      },
    ],
    ['OpenInference', { 'llm.tools.0.tool.json_schema': json(OPENAI) }],
    [
      'OpenInference, older',
      { 'llm.invocation_parameters': json({ temperature: 0, tools: [OPENAI] }) },
    ],
    [
      'OpenLLMetry',
      {
        'llm.request.functions.0.name': 'send_mail',
        'llm.request.functions.0.description': 'Sends a mail.',
        'llm.request.functions.0.parameters': json(PARAMETERS),
      },
    ],
    ['MLflow', { 'mlflow.chat.tools': json([OPENAI]) }],
    [
      'Pydantic AI',
      {
        model_request_parameters: json({
          function_tools: [{ ...DESCRIBED, parameters_json_schema: PARAMETERS, strict: null }],
          output_tools: [],
        }),
      },
    ],
    ['Sentry', { 'gen_ai.request.available_tools': json([OPENAI]) }],
    [
      'n8n',
      {
        'gen_ai.prompt': json({
          messages: ['He said "tools": [no'],
          tools: [{ ...DESCRIBED, schema: PARAMETERS }],
        }),
      },
    ],
    [
      'Claude Code, raw bodies',
      {
        body: json({
          model: 'm',
          tools: [{ ...DESCRIBED, input_schema: PARAMETERS }],
          system: 'x',
        }),
      },
    ],
    [
      'Google ADK',
      {
        'gcp.vertex.agent.llm_request': json({
          config: {
            tools: [{ function_declarations: [{ ...DESCRIBED, parameters: PARAMETERS }] }],
          },
          contents: [{ role: 'user', parts: [{ text: 'the ] end' }] }],
        }),
      },
    ],
    [
      'with keys in another order',
      {
        'gen_ai.tool.definitions': json([
          { parameters: Object.fromEntries(Object.entries(PARAMETERS).reverse()), ...DESCRIBED },
        ]),
      },
    ],
  ];
  it.each(cases)('%s', (_, attributes) => {
    expect(shown(attributes)).toEqual([`/send_mail: Sends a mail. ${SCHEMA}`]);
    const [one] = toolsOf(attributes).definitions;
    const [standard] = toolsOf(cases[0]?.[1] ?? {}).definitions;
    expect(one).toEqual(standard);
  });

  it('in the event of a log record, and in its body', () => {
    const attributes = { 'gen_ai.tool.definitions': [{ ...DESCRIBED, parameters: PARAMETERS }] };
    const event = { name: 'gen_ai.client.inference.operation.details', attributes };
    for (const step of [
      log({ attributes }),
      log({ body: attributes }),
      span({ events: [event] }),
    ]) {
      expect(toolsOfRun([step]).definitions).toEqual(toolsOf(attributes).definitions);
    }
  });
});

describe('the MCP server of a tool', () => {
  const answer = { tools: [{ ...DESCRIBED, inputSchema: PARAMETERS }] };
  it.each<readonly [string, JsonObject, string, string]>([
    [
      'tools/list of the conventions',
      { 'mcp.method.name': 'tools/list', 'mcp.server.name': 'mail', response: json(answer) },
      'tools/list',
      'mail',
    ],
    [
      'Logfire, in JSON-RPC, without a name',
      { response: json({ jsonrpc: '2.0', result: answer }) },
      'MCP request: tools/list',
      '',
    ],
    [
      "the list of a server in OpenAI's Responses API",
      {
        'gen_ai.tool.definitions': json([
          { type: 'mcp_list_tools', server_label: 'mail', tools: answer.tools },
        ]),
      },
      'chat',
      'mail',
    ],
  ])('%s', (_, attributes, name, server) => {
    expect(shown(attributes, name)).toEqual([`${server}/send_mail: Sends a mail. ${SCHEMA}`]);
  });

  it('is in the names that coding agents give', () => {
    const tool = { ...DESCRIBED, name: 'mcp__mail hub__send', input_schema: {} };
    expect(shown({ 'gen_ai.tool.definitions': [tool] })).toEqual([
      'mail hub/mcp__mail hub__send: Sends a mail. {}',
    ]);
  });

  it('a result elsewhere is no list of tools', () => {
    expect(shown({ 'output.value': json(answer) })).toEqual([]);
  });
});

describe('what is known of a tool', () => {
  it('a call describes it, unless a list has it', () => {
    const call = { 'gen_ai.tool.name': 'send_mail', 'gen_ai.tool.description': 'Sends a mail.' };
    expect(shown(call)).toEqual(['/send_mail: Sends a mail. null']);
    const list = { 'gen_ai.tool.definitions': [{ ...DESCRIBED, parameters: {} }] };
    expect(shown({ ...call, ...list })).toEqual(['/send_mail: Sends a mail. {}']);
  });
  it('a name alone is no definition, as the conventions advise', () => {
    expect(shown({ 'gen_ai.tool.definitions': [{ type: 'function', name: 'a' }] })).toEqual([]);
    expect(shown({ 'gen_ai.tool.name': 'a' })).toEqual([]);
  });
  it('a tool with a schema and no description has an empty one', () => {
    expect(shown({ 'gen_ai.tool.definitions': [{ name: 'a', parameters: {} }] })).toEqual([
      '/a:  {}',
    ]);
  });
});

describe('limits', () => {
  it('the same list in every call is one', () => {
    const attributes = { 'gen_ai.tool.definitions': json([OPENAI]) };
    const steps = Array.from({ length: 20 }, () => span({ attributes }));
    expect(toolsOfRun(steps)).toEqual({ definitions: toolsOf(attributes).definitions, leftOut: 0 });
  });
  it('a list that its sender cut is not read, because half a description looks like a change', () => {
    const cut = json([OPENAI, OPENAI]).slice(0, -40);
    expect(toolsOf({ 'gen_ai.tool.definitions': cut })).toEqual({ definitions: [], leftOut: 1 });
    expect(toolsOf({ body: `{"tools":${cut}` })).toEqual({ definitions: [], leftOut: 1 });
  });
  it('definitions of a run', () => {
    const tools = Array.from({ length: RUN_DEFINITIONS_MAX + 7 }, (_, index) => ({
      name: `t${index}`,
      parameters: {},
    }));
    const { definitions, leftOut } = toolsOf({ 'gen_ai.tool.definitions': tools });
    expect([definitions.length, leftOut]).toEqual([RUN_DEFINITIONS_MAX, 7]);
  });
  it('characters of a run', () => {
    const big = (name: string) =>
      span({
        attributes: {
          'mlflow.chat.tools': json([{ name, description: 'x'.repeat(1 << 20), parameters: {} }]),
        },
      });
    const names = Array.from({ length: 6 }, (_, index) => `big${index}`);
    const { definitions, leftOut } = toolsOfRun(names.map(big));
    expect(definitions.length).toBe(RUN_DEFINITION_CHARS_MAX / (1 << 20) - 1);
    expect(definitions.length + leftOut).toBe(6);
  });
  it('texts are cut, and a change after the cut is a change', () => {
    const own = (end: string) => {
      const description = `${'x'.repeat(DESCRIPTION_CHARS_MAX - 1)}\u{1F600}${end}`;
      const parameters = { description: 'y'.repeat(SCHEMA_CHARS_MAX) + end };
      return toolsOf({ 'gen_ai.tool.definitions': [{ name: 'a', description, parameters }] })
        .definitions[0];
    };
    const [one, other] = [own('a'), own('b')];
    expect(one?.description).toBe(other?.description);
    expect(one?.description).toHaveLength(DESCRIPTION_CHARS_MAX);
    expect(one?.schema).toHaveLength(SCHEMA_CHARS_MAX);
    expect(one?.descriptionChars).toBe(DESCRIPTION_CHARS_MAX + 2);
    expect(one?.descriptionHash).not.toBe(other?.descriptionHash);
    expect(one?.schemaHash).not.toBe(other?.schemaHash);
  });
  it('values with equal samples are not taken for each other', () => {
    const tool = (at: number) => {
      const description = `${'x'.repeat(at)}A${'x'.repeat(5000 - at)}`;
      return { 'mlflow.chat.tools': json([{ name: 'a', description, parameters: {} }]) };
    };
    const all = Array.from({ length: 40 }, (_, index) => span({ attributes: tool(1500 + index) }));
    expect(toolsOfRun(all).definitions).toHaveLength(40);
  });
});

describe('untrusted definitions', () => {
  const KEYS = [
    'gen_ai.tool.definitions',
    'ai.prompt.tools',
    'llm.tools.0.tool.json_schema',
    'llm.request.functions.0.parameters',
    'gen_ai.prompt',
    'model_request_parameters',
    'output.value',
    'gen_ai.tool.description',
  ];
  const NASTY = ['\0', '\uD800', '__proto__', '"tools":[', '\\', '$bytes', 'name', 'tools'];
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...NASTY));
  const value = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 6 },
      text,
      fc.constant(null),
      fc.integer(),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(
        fc.oneof(text, fc.constantFrom('name', 'description', 'parameters', 'function')),
        tie('value'),
        { maxKeys: 5 },
      ),
    ),
  })).value;

  it('never throw, and are texts that PostgreSQL takes', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...KEYS),
        value,
        fc.boolean(),
        fc.nat(200),
        (key, sent, encoded, cutAt) => {
          const given = encoded ? json(sent).slice(0, 400 - cutAt) : sent;
          const attributes = {
            'gen_ai.tool.name': 'a\0',
            'llm.request.functions.0.name': '\uDC00',
            [key]: given,
          };
          for (const one of toolsOf(attributes, 'tools/list').definitions) {
            for (const kept of [one.name, one.server, one.description ?? '', one.schema ?? '']) {
              expect(kept.isWellFormed() && !kept.includes('\0')).toBe(true);
            }
          }
        },
      ),
      { numRuns: 500 },
    );
  });
  it('nested deeply', () => {
    const deep = (open: string, close: string) => open.repeat(100_000) + close.repeat(100_000);
    for (const sent of [
      deep('[', ']'),
      deep('{"tools":[', ']}'),
      `[{"name":"a","parameters":${deep('[', ']')}}]`,
    ]) {
      for (const key of KEYS) expect(toolsOf({ [key]: sent }).definitions).toEqual([]);
    }
  });
  it('with a key that is a prototype', () => {
    const sent = '[{"name":"a","parameters":{"__proto__":{"x":1}}}]';
    expect(shown({ 'gen_ai.tool.definitions': sent })).toEqual(['/a:  {"__proto__":{"x":1}}']);
  });
});
