/**
 * Loads uWebSockets.js, with the limit it takes from the environment. Everything else uses its types only.
 *
 * For Node 20 on Linux a mended copy is loaded instead of the package's file, whose parser leaves requests
 * unanswered that have a header such as `X_Foo` (`bin/mend-uws.js`, docs/decisions/dependencies.md).
 */
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/**
 * Most bytes of a request's head: 4 KiB by default, which a browser's cookies alone may have.
 * uWebSockets.js takes it from the environment, once, when it is loaded. The one for Node 20 still takes
 * any head that arrives at once.
 */
const HEAD_BYTES_MAX = 16 * 1024;
/** `process.versions.modules` of Node 20. */
const NODE_20 = '115';
const MENDED_ARCHS = ['x64', 'arm64'];

const { platform, arch, versions } = process;
const isMended =
  versions.modules === NODE_20 && platform === 'linux' && MENDED_ARCHS.includes(arch);
/** Written by `bin/build.js`. */
const mendedFile = new URL(`../../dist/uws_linux_${arch}_${NODE_20}.node`, import.meta.url);

process.env.UWS_HTTP_MAX_HEADERS_SIZE = String(HEAD_BYTES_MAX);
const require = createRequire(import.meta.url);
export const uWS = require(
  isMended ? fileURLToPath(mendedFile) : 'uWebSockets.js',
) as typeof import('uWebSockets.js');
