/** The clients, in the order of the table. */
import type { Client } from './client.ts';
import { SYSTEM } from './story.ts';

const OPENAI = (url: string) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: 'none' });
const ANTHROPIC = (url: string) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'none' });

const CLAUDE = (url: string) => ({
  ...ANTHROPIC(url),
  DISABLE_AUTOUPDATER: '1',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
});

const ARIZE = '@arizeai/openinference-instrumentation';
/** What switches text off. */
const OPENINFERENCE_HIDDEN = {
  OPENINFERENCE_HIDE_INPUTS: 'true',
  OPENINFERENCE_HIDE_OUTPUTS: 'true',
};
/** Read by the program, which then says so to its library. */
const WITHHELD = { WITHHELD: '1' };

/** A server with a tool that has a planted description. */
const MCP = JSON.stringify({
  mcpServers: { parcels: { command: 'node', args: ['mcp-server.mjs'] } },
});

/** The choice that a person makes when Gemini CLI first starts. */
const GEMINI_ACCOUNT = JSON.stringify({ security: { auth: { selectedType: 'gemini-api-key' } } });

const LANGSMITH = {
  package: 'langsmith',
  env: (url: string) => ({ ...OPENAI(url), LANGSMITH_ENDPOINT: url }),
  withheld: { LANGSMITH_HIDE_INPUTS: 'true', LANGSMITH_HIDE_OUTPUTS: 'true' },
};

/** A program of a page's part that talks to OpenAI. */
const openai = (
  name: string,
  [page, section]: readonly [string, string?],
  agent: string,
  more: Partial<Client> & Pick<Client, 'package'>,
): Client => ({
  name,
  page,
  ...(section === undefined ? {} : { section }),
  agent: `${agent}.mjs`,
  env: OPENAI,
  ...more,
});

export const CLIENTS: readonly Client[] = [
  openai('AI SDK 7', ['ai-sdk', 'Version 7'], 'ai-sdk', { package: 'ai', withheld: WITHHELD }),
  openai('AI SDK 7, @vercel/otel', ['ai-sdk', 'Version 7 with @vercel/otel'], 'ai-sdk', {
    package: '@vercel/otel',
  }),
  openai('AI SDK 6', ['ai-sdk', 'Versions 5 and 6'], 'ai-sdk', {
    package: 'ai6',
    packages: { ai: 'ai6', '@ai-sdk/openai': 'ai-sdk-openai-3' },
    withheld: WITHHELD,
  }),
  openai('AI SDK 5', ['ai-sdk', 'Versions 5 and 6'], 'ai-sdk', {
    package: 'ai5',
    packages: { ai: 'ai5', '@ai-sdk/openai': 'ai-sdk-openai-2' },
    withheld: WITHHELD,
  }),
  openai('OpenInference OpenAI, chat', ['openinference', 'OpenAI'], 'openai-chat', {
    package: `${ARIZE}-openai`,
    withheld: OPENINFERENCE_HIDDEN,
  }),
  openai('OpenInference OpenAI, responses', ['openinference', 'OpenAI'], 'openai-responses', {
    package: `${ARIZE}-openai`,
    withheld: OPENINFERENCE_HIDDEN,
  }),
  {
    ...openai('OpenInference Anthropic', ['openinference', 'Anthropic'], 'anthropic', {
      package: `${ARIZE}-anthropic`,
      withheld: OPENINFERENCE_HIDDEN,
    }),
    env: ANTHROPIC,
  },
  openai('OpenInference LangChain', ['openinference', 'LangChain'], 'langchain', {
    package: `${ARIZE}-langchain`,
    withheld: OPENINFERENCE_HIDDEN,
  }),
  openai(
    'OpenAI Agents SDK, OpenInference',
    ['openinference', 'OpenAI Agents SDK'],
    'openai-agents',
    {
      package: '@openai/agents',
      withheld: OPENINFERENCE_HIDDEN,
    },
  ),
  openai('OpenLLMetry OpenAI', ['openllmetry', 'OpenAI'], 'openai-chat', {
    package: '@traceloop/instrumentation-openai',
  }),
  {
    ...openai('OpenLLMetry Anthropic', ['openllmetry', 'Anthropic'], 'anthropic', {
      package: '@traceloop/instrumentation-anthropic',
      packages: { '@anthropic-ai/sdk': '@anthropic-ai/sdk-0' },
    }),
    env: ANTHROPIC,
  },
  openai('OpenLLMetry SDK', ['openllmetry', 'The SDK'], 'openai-chat', {
    package: '@traceloop/node-server-sdk',
    withheld: { TRACELOOP_TRACE_CONTENT: 'false' },
  }),
  openai('OpenTelemetry OpenAI', ['opentelemetry'], 'openai-chat', {
    package: '@opentelemetry/instrumentation-openai',
    packages: { openai: 'openai6' },
  }),
  openai('OpenLIT', ['openlit'], 'openai-chat', { package: 'openlit' }),
  openai('Langfuse', ['langfuse'], 'langfuse', { package: '@langfuse/otel' }),
  openai('Mastra', ['mastra'], 'mastra', { package: '@mastra/core' }),
  openai('LangSmith', ['langsmith', 'As JSON'], 'langsmith', LANGSMITH),
  openai('LangSmith, relay', ['langsmith', 'As protobuf'], 'langsmith', {
    ...LANGSMITH,
    isRelayed: true,
  }),
  openai('Laminar', ['laminar'], 'laminar', { package: '@lmnr-ai/lmnr' }),
  openai('Logfire, AI SDK 7', ['logfire'], 'ai-sdk', { package: '@pydantic/logfire-node' }),
  openai('Strands Agents', ['strands'], 'strands', { package: '@strands-agents/sdk' }),
  openai('VoltAgent', ['voltagent'], 'voltagent', {
    package: '@voltagent/core',
    // With the AI SDK that it is made for.
    packages: {
      '@voltagent/core': '@voltagent/core',
      ai: 'ai6',
      '@ai-sdk/openai': 'ai-sdk-openai-3',
    },
  }),
  {
    name: 'Google ADK',
    package: '@google/adk',
    page: 'google-adk',
    agent: 'google-adk.mjs',
    env: (url) => ({ GOOGLE_GEMINI_BASE_URL: url }),
    withheld: { ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS: 'false' },
  },
  openai('Deno', ['deno'], 'ai-sdk', { package: 'deno' }),
  openai('Bun', ['bun'], 'ai-sdk', { package: 'bun' }),
  {
    name: 'Claude Code',
    package: '@anthropic-ai/claude-code',
    page: 'claude-code',
    texts: { 'mcp.json': MCP },
    command:
      'claude -p "$STORY_USER" --append-system-prompt "$STORY_SYSTEM" --allowedTools Bash ' +
      '--mcp-config mcp.json',
    env: CLAUDE,
  },
  {
    name: 'Claude Agent SDK',
    package: '@anthropic-ai/claude-agent-sdk',
    page: 'claude-agent-sdk',
    agent: 'claude-agent-sdk.mjs',
    env: CLAUDE,
  },
  {
    name: 'Codex CLI',
    package: '@openai/codex',
    page: 'codex',
    files: { toml: '.codex/config.toml' },
    command:
      'codex exec --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox -m gpt-5.1-codex ' +
      '-c model_provider=stub -c model_providers.stub.name=stub ' +
      '-c model_providers.stub.base_url="$PROVIDER_URL/v1" -c model_providers.stub.wire_api=responses ' +
      '-c mcp_servers.parcels.command=node -c \'mcp_servers.parcels.args=["mcp-server.mjs"]\' ' +
      '-c developer_instructions="$STORY_SYSTEM" "$STORY_USER"',
  },
  {
    name: 'Gemini CLI',
    package: '@google/gemini-cli',
    page: 'gemini-cli',
    section: 'Gemini CLI',
    files: { json: '.gemini/settings.json' },
    texts: { 'system.md': SYSTEM, 'account.json': GEMINI_ACCOUNT },
    command: 'gemini --skip-trust --yolo -m gemini-2.5-flash -p "$STORY_USER"',
    env: (url) => ({
      GEMINI_API_KEY: 'none',
      GOOGLE_GEMINI_BASE_URL: url,
      GEMINI_SYSTEM_MD: 'system.md',
      GEMINI_CLI_SYSTEM_SETTINGS_PATH: 'account.json',
    }),
  },
  {
    name: 'Qwen Code',
    package: '@qwen-code/qwen-code',
    page: 'gemini-cli',
    section: 'Qwen Code',
    files: { json: '.qwen/settings.json' },
    texts: { 'system.md': SYSTEM },
    echoesCommand: true,
    command: 'qwen --yolo --auth-type openai -p "$STORY_USER"',
    env: (url) => ({ ...OPENAI(url), OPENAI_MODEL: 'qwen3-coder', QWEN_SYSTEM_MD: 'system.md' }),
  },
  openai('Genkit', ['genkit'], 'genkit', { package: 'genkit' }),
];
