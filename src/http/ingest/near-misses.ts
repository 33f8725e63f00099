/**
 * Telemetry sent to a path that is nearly right, as when an exporter appends `/v1/traces` to an endpoint
 * that has a path already: 404 with the path to use, in the form of the 410 at the bare paths.
 */
import { ERRORS } from '../../errors.ts';
import type { Signal } from '../../model/telemetry.ts';
import { JSON_TYPE } from '../transport/answers.ts';
import type { Answer, Exchange } from '../transport/exchange.ts';
import { servedElsewhere } from './ingest-routes.ts';

/** The paths of a host by signal, and the host's own address. */
export interface ServedPaths {
  readonly paths: Readonly<Record<Signal, string>>;
  readonly url: string;
}

/** Longer paths are no mistakes of an exporter. */
const PATH_CHARS_MAX = 512;
/** The dashboard's addresses are its own. */
const APP_PATH = /^\/app(?:\/|$)/;
/** The path that an exporter appends to any prefix. */
const APPENDED = /\/v1\/(traces|metrics|logs)$/;
/** Paths of nothing but the words of the right ones. */
const WORDS = /^(?:\/(?:platform|api|v1|ingest|otel|otlp))*(?:\/(traces|metrics|logs))?$/;

/** @returns traces for a path that names no signal; null when it was meant for something else */
export function intendedSignal(path: string): Signal | null {
  if (path.length > PATH_CHARS_MAX || APP_PATH.test(path)) return null;
  const plain = path
    .toLowerCase()
    .replace(/\/{2,}/g, '/')
    .replace(/\/$/, '');
  const appended = APPENDED.exec(plain);
  if (appended !== null) return appended[1] as Signal;
  const words = WORDS.exec(plain);
  if (words === null) return null;
  if (words[1] !== undefined) return words[1] as Signal;
  return /\/(?:ingest|otel|otlp)(?:\/|$)/.test(plain) ? 'traces' : null;
}

/** The answer to a request at a path that nothing serves; null when it was not meant to send telemetry. */
export function nearMissAnswer(
  { method, path }: Pick<Exchange, 'method' | 'path'>,
  { paths, url }: ServedPaths,
): Answer | null {
  const signal = method === 'POST' ? intendedSignal(path) : null;
  if (signal === null) return null;
  const served = paths[signal];
  const variable = `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_ENDPOINT`;
  const message =
    `Nothing is served at this path. Send ${signal} to ${url}${served}: set ${variable} to it, which ` +
    'exporters use as it is; they append a path to OTEL_EXPORTER_OTLP_ENDPOINT.';
  return {
    status: ERRORS.not_found.status,
    contentType: JSON_TYPE,
    body: JSON.stringify(servedElsewhere('not_found', message, served, `${url}${served}`)),
  };
}
