/**
 * On which Node.js and C library Sluice runs, and why its native modules could not be loaded. Imports
 * nothing, so that it works where they do not.
 */

export interface NodeRuntime {
  /** `20.20.2` */
  readonly version: string;
  /** null where there is none, as on macOS and Alpine */
  readonly glibc: string | null;
  readonly platform: string;
  readonly arch: string;
}

/** Requirements of uWebSockets.js's binaries, by major version of Node.js. */
const GLIBC_MIN: Readonly<Record<number, string>> = { 20: '2.31', 22: '2.38', 24: '2.38' };
const LEAST_NODE = '20.19';

export const TESTED_MAJORS: readonly number[] = Object.keys(GLIBC_MIN).map(Number);
export const RECOMMENDED_NODE = 'Node.js 24, on Debian 13, Ubuntu 24.04 or newer';

export function currentRuntime(): NodeRuntime {
  const report = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
  return {
    version: process.versions.node,
    glibc: report.header?.glibcVersionRuntime ?? null,
    platform: process.platform,
    arch: process.arch,
  };
}

/** Checks whether a version such as `2.36` is at least another one. */
function isAtLeast(version: string, least: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [leastMajor = 0, leastMinor = 0] = least.split('.').map(Number);
  return major > leastMajor || (major === leastMajor && minor >= leastMinor);
}

/** Why Sluice cannot run there, as what to do; null when it can. */
export function runtimeProblem({ version, glibc, platform }: NodeRuntime): string | null {
  const major = Number(version.split('.')[0]);
  if (!isAtLeast(version, LEAST_NODE)) {
    return `Install ${RECOMMENDED_NODE}; the least is ${LEAST_NODE}.`;
  }
  if (platform !== 'linux') return null;
  if (glibc === null) {
    return 'Use a distribution with glibc, such as Debian: Alpine has another C library.';
  }
  const least = GLIBC_MIN[major];
  if (least === undefined || isAtLeast(glibc, least)) return null;
  const other = isAtLeast(glibc, '2.31') ? ', or use Node.js 20 here' : '';
  return `Node.js ${major} needs glibc ${least}: update to Debian 13 or Ubuntu 24.04${other}.`;
}

/**
 * Which requests get no answer on a Node.js that Sluice runs on; null if all do. Its build of uWebSockets.js
 * has that fault; on Linux a mended copy is loaded instead (`src/http/uws.ts`).
 */
export function runtimeFault({
  version,
  platform,
}: Pick<NodeRuntime, 'version' | 'platform'>): string | null {
  if (platform === 'linux' || !version.startsWith('20.')) return null;
  return (
    'Node.js 20 does not answer requests with headers such as X_Foo on this system: ' +
    'use Node.js 22 or 24.'
  );
}

/** The messages of dlopen and Node.js about a native module that does not fit. */
const NATIVE_FAULT = /GLIBC_\d|NODE_MODULE_VERSION|uWS\.js supports only|re2\.node|uws_\w+\.node/;

/**
 * Why the program could not be loaded, when a native module is the reason.
 *
 * @returns lines for the operator; null for any other error
 */
export function explainLoadFailure(
  error: unknown,
  runtime: NodeRuntime = currentRuntime(),
): string | null {
  if (!NATIVE_FAULT.test(error instanceof Error ? error.message : '')) return null;
  const { version, glibc } = runtime;
  const found = `${version}${glibc === null ? '' : ` with glibc ${glibc}`}`;
  const change =
    runtimeProblem(runtime) ??
    'Its native modules were installed for another Node.js: run npm ci (or npm rebuild) with this one.';
  return `Sluice cannot be loaded by this Node.js, ${found}.\n  ${change}`;
}
