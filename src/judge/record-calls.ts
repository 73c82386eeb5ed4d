import type { Judge, JudgeCall } from './judge.ts';

/** The judge as it is; every call made through it is also put into `calls`. */
export function recordCalls(judge: Judge, calls: JudgeCall[]): Judge {
  return {
    model: judge.model,
    ...(judge.endpoint === undefined ? {} : { endpoint: judge.endpoint }),
    ask: (request, options) =>
      judge.ask(request, {
        ...options,
        onCall(call) {
          calls.push(call);
          options.onCall?.(call);
        },
      }),
  };
}
