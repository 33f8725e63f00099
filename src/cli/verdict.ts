/** Why a rule does or does not run here, as a sentence. */
import { exampleFailure, type Support } from '../model/rules.ts';

export interface JudgedRule {
  readonly support: Support;
  readonly status: string;
  readonly conditions: readonly { readonly supported: boolean }[];
  readonly unsupportedReasons: readonly { readonly message: string }[];
  readonly ownExamples: {
    readonly truePositives: number;
    readonly trueNegatives: number;
    readonly failed: readonly {
      readonly kind: string;
      readonly index: number;
      readonly why: string;
    }[];
  };
}

/** When a rule runs, before any override of a workspace. */
export type Activation = 'by default' | 'on demand' | 'never';

export function activationOf({
  support,
  status,
}: Pick<JudgedRule, 'support' | 'status'>): Activation {
  if (support === 'unsupported' || support === 'fails_own_examples') return 'never';
  if (status === 'stable') return 'by default';
  return status === 'experimental' ? 'on demand' : 'never';
}

export function verdictOf(rule: JudgedRule): string {
  const { support, status, ownExamples } = rule;
  const lost = rule.conditions.filter((condition) => !condition.supported).length;
  if (support === 'unsupported') return `Never runs here: not supported, it ${reasonsOf(rule)}.`;
  if (support === 'fails_own_examples') {
    const lostText =
      lost === 0 ? '' : `; ${lost} of its ${rule.conditions.length} conditions cannot run here`;
    return `Never runs: it ${exampleFailure(ownExamples)}${lostText}.`;
  }
  if (status === 'draft' || status === 'deprecated') {
    return `Never runs: it is ${status} in the corpus.`;
  }
  const how =
    support === 'as_written'
      ? 'Fully supported'
      : `Partly supported, without ${lost} of its ${rule.conditions.length} conditions`;
  return status === 'stable'
    ? `${how}. On by default; a workspace can switch it off.`
    : `${how}. Off by default; on with the experimental tier, or when switched on manually.`;
}

/** The reasons why a rule, or some of its conditions, cannot run; each once. */
export function reasonsOf(rule: Pick<JudgedRule, 'unsupportedReasons'>): string {
  return rule.unsupportedReasons.map(({ message }) => message).join('; ');
}
