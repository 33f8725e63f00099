/**
 * Attributes that hold words but no text of an agent's run: what services, databases and programs say about
 * themselves, and what operators write (tools, schemas, instructions, settings, evaluations). No convention
 * reads them, and a run with them is still fully checked. Data only.
 */

/**
 * First segments of keys: OpenTelemetry's conventions for services and resources, and tracers' own keys. Those
 * with short values only (`user`, `session`, `client`) are not here: products use them for text.
 */
export const SERVICE_NAMESPACES: ReadonlySet<string> = new Set(
  (
    'android aspnetcore aws az azure browser cassandra cicd cloud cloudevents ' +
    'cloudfoundry code container cpu cpython db dd deployment disk dns dotnet ' +
    'elasticsearch error exception faas feature_flag geo graphql grpc heroku host http ' +
    'hw ios jvm k8s kestrel linux log logfire messaging net network nodejs oci ' +
    'opentracing os otel peer process rpc sampler security_rule sentry server service ' +
    'signalr telemetry thread tls url user_agent v8js vcs webengine zos'
  ).split(' '),
);

const WORDS = [
  'annotations?|backstory|config(?:uration)?|definitions?|documentation|errors?|evals?',
  'evaluations?|exception|expected|finish_reasons?|headers?|instructions?',
  '(?:invocation|model|request)_parameters|metadata|options|schemas?|scores?|settings',
  'sql|stack(?:_?trace)?|system_(?:prompt|message)|tags?|templates?|traceback|usage',
  'user_?agent|version',
  '(?:agent|function|model|parameter|server|tool)s?[._]descriptions?',
];

/** The input or output of a tool, `acme.tools.output`: text, also under `tools`. */
const OF_CALLS =
  '(?:.*[._:-])?(?:outputs?|results?|responses?|answers?|observations?|inputs?|arguments|args|calls?)$';

/** Words of a key that say what the attribute is; of tools and functions, only as a whole segment. */
export const NOT_TEXT_NAMES = new RegExp(
  `(?:^|[._:-])(?:(?:${WORDS.join('|')})(?:$|[._:-])|(?:tools|functions)(?:$|[.:](?!${OF_CALLS})))`,
  'i',
);

/** Beginnings of the keys that conventions leave out on purpose; each says so in its file. */
export const LEFT_OUT: readonly string[] = (
  'agentscope.format. ai.schema ai.telemetry. braintrust.parent conseca. crewai.agent. ' +
  'crewai.crew.agents crewai.crew.tasks flue.log. gen_ai.agent.role gen_ai.agent.tools ' +
  'gen_ai.guardrail. gen_ai.handoff. gen_ai.serialized. genkit:init genkit:metadata: ' +
  'guard. hidden_params input-json llm.prompt_template. lmnr.association. mlflow.chunk. ' +
  'mlflow.traceTag. output-json pydantic_ai.tool.deferral. reranker.input_documents. ' +
  'spring.ai.chat.client. traceloop.association. user_system_prompt'
).split(' ');

/** Spans that repeat their parent's text, system prompt included (LiteLLM). */
export const LEFT_OUT_SPANS: ReadonlySet<string> = new Set(['raw_gen_ai_request']);
