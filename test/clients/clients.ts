/** The clients, in the order of the table. */
import type { Client } from './client.ts';

const OPENAI = (url: string) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: 'none' });
const ANTHROPIC = (url: string) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'none' });
const HIDDEN = { OPENINFERENCE_HIDE_INPUTS: 'true', OPENINFERENCE_HIDE_OUTPUTS: 'true' };

export const CLIENTS: readonly Client[] = [
  {
    name: 'OpenInference OpenAI',
    package: '@arizeai/openinference-instrumentation-openai',
    page: 'openinference',
    section: 'OpenAI',
    agent: 'openai-chat.mjs',
    env: OPENAI,
    withheld: HIDDEN,
  },
  {
    name: 'OpenInference Anthropic',
    package: '@arizeai/openinference-instrumentation-anthropic',
    page: 'openinference',
    section: 'Anthropic',
    agent: 'anthropic.mjs',
    env: ANTHROPIC,
    withheld: HIDDEN,
  },
];
