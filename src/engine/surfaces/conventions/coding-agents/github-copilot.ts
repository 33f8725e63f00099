/**
 * GitHub Copilot Chat and Copilot CLI (microsoft/vscode-docs
 * `docs/copilot/guides/monitoring-agents.md`): OpenTelemetry GenAI, which `otel-genai.ts` reads, and
 * beside it keys of Copilot's own, which mean the same under any service name. Data only.
 *
 * Left out: its log events (`copilot_chat.*`, without text), hooks' commands (configuration), names
 * of servers, repositories and branches, request options, ids.
 */
import type { Convention } from '../../reader/convention.ts';
import { structure, text } from '../rows.ts';

export const GITHUB_COPILOT: Convention = {
  name: 'github-copilot',
  // A hook names the tools it guards; it is not a tool.
  kinds: [{ key: 'gen_ai.operation.name', kinds: { execute_hook: 'other' } }],
  attributes: [
    { key: 'copilot_chat.user_request', read: text('step_input') },
    { key: 'copilot_chat.hook_input', read: structure('step_input') },
    { key: 'github.copilot.tool.parameters.mcp_tool_name', read: text('tool_name') },
    { key: 'github.copilot.tool.parameters.command', read: text('tool_args') },
    { key: 'github.copilot.tool.parameters.file_path', read: text('tool_args') },
    { key: 'github.copilot.tool.parameters.skill_name', read: text('tool_args') },
    { key: 'copilot_chat.reasoning_content', read: text('agent_output') },
    { key: 'copilot_chat.hook_output', read: structure('step_output') },
  ],
};
