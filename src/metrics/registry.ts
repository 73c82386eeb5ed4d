import { agentGoalAccuracy, agentGoalAccuracyWithReference } from './agent-goal-accuracy.ts';
import type { Metric } from './metric.ts';
import { topicAdherence } from './topic-adherence.ts';

/** Every metric there is. A new one is a file beside this and a line here. */
export const METRICS: readonly Metric[] = [agentGoalAccuracy, agentGoalAccuracyWithReference, topicAdherence];

export const findMetric = (name: string): Metric | undefined => METRICS.find((metric) => metric.name === name);
