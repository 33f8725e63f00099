/** The dashboard's pages about log records and metrics. */
import { logFilters, logsPage } from '../../web/app/telemetry/logs.ts';
import { metricPage, metricsPage } from '../../web/app/telemetry/metrics.ts';
import { logFilterOf, logsQuery, toLogCursor } from '../api/telemetry/log-routes.ts';
import { rangeOf, seriesQuery } from '../api/telemetry/metric-routes.ts';
import { parsePageQuery } from '../transport/query.ts';
import type { Route } from '../transport/router.ts';
import { type AppDependencies, pageRoutes, WITH_QUERY } from './dashboard.ts';

const metricQuery = seriesQuery.extend({ name: seriesQuery.shape.name.optional() });

export function telemetryPages(deps: AppDependencies): Route[] {
  const { runs, look } = deps;
  const page = pageRoutes(deps);
  return [
    page(
      '/app/logs',
      WITH_QUERY,
      async ({ exchange, request, viewer }) => {
        const query = parsePageQuery(logsQuery, exchange.query);
        const { id, redactExcerpts: isRedacted } = request.workspace;
        const { cursor = null, limit } = query;
        const list = await runs.logs(id, logFilterOf(query), cursor, limit, exchange.signal);
        const next = toLogCursor(list.next);
        return logsPage(look, viewer, { ...list, next, query: exchange.query, isRedacted });
      },
      logFilters,
    ),
    page('/app/metrics', WITH_QUERY, async ({ exchange, request, viewer, nowMs }) => {
      const { name, by = null, ...query } = parsePageQuery(metricQuery, exchange.query);
      const { id } = request.workspace;
      const { hours } = query;
      const range = rangeOf(query, nowMs);
      if (name === undefined) {
        const list = await runs.metrics.list(id, range, exchange.signal);
        return metricsPage(look, viewer, { list, hours, nowMs });
      }
      const chart = await runs.metrics.chart(id, { name, by }, range, exchange.signal);
      return metricPage(look, viewer, { name, chart, hours, nowMs });
    }),
  ];
}
