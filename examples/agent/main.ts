import { runAsProgram } from '../lib/run-as-program.ts';
import { startHarbourAgent } from './server.ts';

// node examples/agent/main.ts        PORT=8000 HOST=127.0.0.1
await runAsProgram('harbour agent', startHarbourAgent);
