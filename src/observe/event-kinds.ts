/**
 * The kinds of events. A declaration has an event's words, level, counter and labels, and gives the function that
 * reports it. An outage is logged when it begins and when it ends, and counted every time, so that a database
 * that is away for an hour is two log lines:
 *
 *   works ──failure: logged──► away ──failures: counted──► away ──success: logged──► works
 */
import type { Logger } from 'pino';
import { Counter, Gauge, Registry } from 'prom-client';

import { errorFacts } from './error-facts.ts';

type Level = 'debug' | 'info' | 'warn' | 'error' | 'fatal';

interface OutageWords {
  /** in `faults_total`; null: counted elsewhere */
  readonly place: string | null;
  readonly level?: 'warn' | 'error';
  readonly fails: string;
  readonly works: string;
}

/** Reasons of a failure that are no error. */
export class Facts {
  readonly facts: object;
  constructor(facts: object) {
    this.facts = facts;
  }
}

/** @param faultsHelp describes the counter of faults */
export function eventKinds(log: Logger, prefix: string, faultsHelp: string) {
  const registry = new Registry();
  const registers = [registry];
  const counter = <Label extends string = never>(
    name: string,
    help: string,
    labelNames: Label[] = [],
  ) => new Counter({ name: `${prefix}_${name}`, help, labelNames, registers });
  const gauge = <Label extends string = never>(
    name: string,
    help: string,
    labelNames: Label[] = [],
  ) => new Gauge({ name: `${prefix}_${name}`, help, labelNames, registers });
  const faults = counter('faults_total', faultsHelp, ['place']);
  return {
    registry,
    counter,
    gauge,
    faults,

    /** Counts an event; its arguments are the values of the labels. */
    counted: <Values extends readonly (string | number)[]>(
      name: string,
      help: string,
      ...labelNames: string[]
    ) => {
      const metric = counter(name, help, labelNames);
      return (...values: Values): void => metric.labels(...values.map(String)).inc();
    },
    /** Adds the argument to a counter. */
    summed: (name: string, help: string) => {
      const metric = counter(name, help);
      return (amount: number): void => metric.inc(amount);
    },
    /** Sets a gauge to the argument. */
    shown: (name: string, help: string) => {
      const metric = gauge(name, help);
      return (value: number): void => metric.set(value);
    },
    /** Logs the argument's facts. */
    said:
      <Given extends object>(level: Level, words: string) =>
      (facts: Given): void =>
        log[level](facts as object, words),
    /** Logs an error, and counts it as a fault. */
    fault:
      (place: string | null, words: string, level: Level = 'error') =>
      (error: unknown): void => {
        if (place !== null) faults.inc({ place });
        log[level](errorFacts(error), words);
      },
    /** Two events: something fails, again and again, and works again. */
    outage: <Fails extends string, Works extends string>(
      failsName: Fails,
      worksName: Works,
      { place, level = 'warn', fails, works }: OutageWords,
    ) => {
      let since = 0;
      let failures = 0;
      const onFailure = (reason: unknown): void => {
        if (place !== null) faults.inc({ place });
        const facts = reason instanceof Facts ? reason.facts : errorFacts(reason);
        log[failures === 0 ? level : 'debug'](facts, fails);
        if (failures === 0) since = performance.now();
        failures += 1;
      };
      const onSuccess = (): void => {
        if (failures === 0) return;
        log.info({ failures, elapsedMs: Math.round(performance.now() - since) }, works);
        failures = 0;
      };
      return { [failsName]: onFailure, [worksName]: onSuccess } as Record<
        Fails,
        (reason: unknown) => void
      > &
        Record<Works, () => void>;
    },
  };
}

export type EventKinds = ReturnType<typeof eventKinds>;
