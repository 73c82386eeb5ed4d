import { execFileSync, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { access, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pinned } from '../cores.ts';
import { failure, stop, stopWithRunner } from '../processes.ts';
import { accepts, freePort } from './ports.ts';
import type { TargetKind } from './target.ts';

const PLACES = ['/usr/sbin/nginx', '/usr/local/sbin/nginx', '/usr/local/bin/nginx', '/opt/homebrew/bin/nginx'];

/** Where nginx is; undefined when it is not installed. */
export async function findNginx(): Promise<string | undefined> {
  for (const place of PLACES) {
    try {
      await access(place);
      return place;
    } catch {
      // Not here.
    }
  }
  return undefined;
}

export const nginxVersion = (path: string): string =>
  // It says so on its standard error.
  /nginx\/(?<version>\S+)/u.exec(execFileSync('sh', ['-c', '"$0" -v 2>&1', path], { encoding: 'utf8' }))?.groups?.[
    'version'
  ] ?? 'of an unknown version';

/** nginx as its manual sets it up for event streams: one worker, no buffering of answers, connections to the agent kept. */
export function nginxTarget(name: string, path: string, maxStreams: number): TargetKind {
  return {
    name,
    async start({ agentPort, cores }) {
      const folder = await mkdtemp(join(tmpdir(), 'bench-nginx-'));
      process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
      const port = await freePort();
      const configuration = join(folder, 'nginx.conf');
      await writeFile(configuration, configurationFor({ folder, port, agentPort, maxStreams }));
      const [program, ...args] = pinned(cores.targets, [path, '-p', folder, '-e', 'stderr', '-c', configuration]);
      const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] });
      stopWithRunner(child);
      const ready = accepts(port).then(() => workerOf(child.pid ?? 0));
      const worker = await Promise.race([ready, failure(child, name)]);
      return {
        name,
        port,
        pid: worker,
        stop: () => stop(child),
      };
    },
  };
}

interface Place {
  readonly folder: string;
  readonly port: number;
  readonly agentPort: number;
  readonly maxStreams: number;
}

function configurationFor({ folder, port, agentPort, maxStreams }: Place): string {
  // Two a stream, and far more: near its bound nginx closes connections whose request it has not read yet.
  const connections = maxStreams * 3 + 512;
  return `
daemon off;
worker_processes 1;
worker_rlimit_nofile ${connections + 64};
pid ${folder}/nginx.pid;
error_log stderr error;
events { worker_connections ${connections}; }
http {
  access_log off;
  keepalive_requests 1000000;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  upstream agent {
    server 127.0.0.1:${agentPort};
    keepalive 256;
    keepalive_requests 1000000;
  }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / {
      proxy_pass http://agent;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_read_timeout 1h;
    }
  }
}
`;
}

/** The master listens before it has its worker. */
async function workerOf(masterPid: number): Promise<number> {
  for (;;) {
    const children = await readFile(`/proc/${masterPid}/task/${masterPid}/children`, 'utf8');
    const worker = Number.parseInt(children, 10);
    if (worker > 0) return worker;
    await sleep(20);
  }
}
