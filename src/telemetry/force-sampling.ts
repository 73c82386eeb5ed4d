import { type Context, createContextKey } from '@opentelemetry/api';

/** Names the wish to the sampler in `sdk.ts`, which knows nothing of evaluations. */
const FORCED = createContextKey('agui-sidecar: sample whatever the configured sampler says');

/** `context` in which every span is sampled, whatever sampler the environment chose. */
export function withForcedSampling(context: Context): Context {
  return context.setValue(FORCED, true);
}

export function isSamplingForced(context: Context): boolean {
  return context.getValue(FORCED) === true;
}
