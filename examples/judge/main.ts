import { runAsProgram } from '../lib/run-as-program.ts';
import { startScriptedJudge } from './server.ts';

// node examples/judge/main.ts        PORT=8000 HOST=127.0.0.1
await runAsProgram('scripted-judge', startScriptedJudge);
