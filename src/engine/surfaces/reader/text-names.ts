/** Owns which names of attributes may be those of a run's texts: not those of services and operators. */
import { LEFT_OUT, NOT_TEXT_NAMES, SERVICE_NAMESPACES } from '../conventions/not-text.ts';

export function mayHoldText(key: string): boolean {
  return (
    !isOfService(key) &&
    !NOT_TEXT_NAMES.test(key) &&
    !LEFT_OUT.some((prefix) => key.startsWith(prefix))
  );
}

export function isOfService(name: string): boolean {
  const [namespace = ''] = name.split('.', 1);
  return SERVICE_NAMESPACES.has(namespace.toLowerCase());
}
