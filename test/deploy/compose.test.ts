import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse, parseDocument } from 'yaml';
import { z } from 'zod';
import { parseDuration } from '../../src/config/units.ts';
import { LONGEST_AFTER_GRACE_MS } from '../../src/shutdown.ts';

const ROOT = new URL('../../', import.meta.url);
const text = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');

const serviceShape = z.object({
  image: z.string().optional(),
  build: z.object({ context: z.string(), target: z.string() }).optional(),
  stop_grace_period: z.string().optional(),
  command: z.array(z.string()).optional(),
  profiles: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.union([z.string(), z.number(), z.null()])).default({}),
  ports: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
  healthcheck: z.unknown().optional(),
});

const compose = z
  .object({
    name: z.string(),
    services: z.record(z.string(), serviceShape),
    volumes: z.record(z.string(), z.unknown()),
  })
  .parse(parse(text('docker-compose.yml'), { merge: true }));

const services = Object.entries(compose.services);

const CONFIG_FILES = [
  'docker-compose.yml',
  'deploy/prometheus.yml',
  'deploy/otel-collector.yaml',
  'deploy/tempo.yaml',
  'deploy/grafana/datasources/datasources.yaml',
  'deploy/grafana/dashboards/dashboards.yaml',
];

describe('docker-compose.yml', () => {
  it.each(CONFIG_FILES)('%s is YAML without faults', (path) => {
    const { errors, warnings } = parseDocument(text(path), { merge: true });
    expect([...errors, ...warnings]).toEqual([]);
  });

  it('mounts only what exists: files of the repository and named volumes', () => {
    const missing = services.flatMap(([name, { volumes }]) =>
      volumes
        .map((volume) => volume.split(':')[0] ?? '')
        .filter((source) =>
          source.startsWith('./') ? !existsSync(new URL(source, ROOT)) : !(source in compose.volumes),
        )
        .map((source) => `${name}: ${source}`),
    );
    expect(missing).toEqual([]);
  });

  it('mounts every file of deploy/ that a service reads', () => {
    const mounted = new Set(services.flatMap(([, { volumes }]) => volumes.map((volume) => volume.split(':')[0])));
    const unread = CONFIG_FILES.slice(1).filter(
      (path) => !mounted.has(`./${path}`) && !mounted.has(`./${path.slice(0, path.lastIndexOf('/'))}`),
    );
    expect(unread).toEqual([]);
  });

  it('depends only on services that exist, are in no narrower profile, and can become healthy', () => {
    for (const [name, { depends_on: dependencies, profiles }] of services) {
      for (const [other, { condition }] of Object.entries(dependencies)) {
        const target = compose.services[other];
        expect(target, `${name} depends on ${other}`).toBeDefined();
        if (target?.profiles !== undefined) expect(profiles).toEqual(target.profiles);
        if (condition !== 'service_healthy') continue;
        const ownCheck = target?.build?.target === 'sidecar' && text('Dockerfile').includes('HEALTHCHECK');
        expect(target?.healthcheck !== undefined || ownCheck, `${other} has a health check`).toBe(true);
      }
    }
  });

  it('publishes each port once, and nothing but the proxy beyond this machine', () => {
    const ports = services.flatMap(([name, service]) => service.ports.map((port) => ({ name, port })));
    const published = ports.map(({ port }) => port.split(':').at(-2));
    expect(new Set(published).size).toBe(published.length);
    expect(ports.filter(({ port }) => !port.startsWith('127.0.0.1:'))).toEqual([
      { name: 'sidecar', port: '8080:8080' },
    ]);
  });

  it('pins every image to a version that the environment can replace', () => {
    const images = services.flatMap(([, { image }]) => (image === undefined ? [] : [image]));
    expect(images.length).toBeGreaterThan(0);
    for (const image of images) expect(image).toMatch(/^\$\{[A-Z_]+_IMAGE:-[\w./-]+:v?\d+\.\d+\.\d+\}$/);
    expect(text('Dockerfile')).toMatch(/^ARG NODE_IMAGE=node:\d+\.\d+\.\d+-slim$/m);
  });

  it('runs the Node version that the project is developed with', () => {
    const manifest = z
      .object({ devDependencies: z.object({ node: z.string() }) })
      .parse(JSON.parse(text('package.json')));
    expect(text('Dockerfile')).toContain(`ARG NODE_IMAGE=node:${manifest.devDependencies.node}-slim`);
  });

  it('builds only stages that the Dockerfile has, from files that the build context lets in', () => {
    const dockerfile = text('Dockerfile');
    const stages = [...dockerfile.matchAll(/^FROM .* AS (\w+)$/gm)].map((match) => match[1]);
    for (const [, { build }] of services) if (build !== undefined) expect(stages).toContain(build.target);

    const allowed = new Set([...text('.dockerignore').matchAll(/^!(.+)$/gm)].map((match) => match[1]));
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, sources = '']) =>
      sources.split(' '),
    );
    expect(copied.filter((source) => !allowed.has(source) || !existsSync(new URL(source, ROOT)))).toEqual([]);
  });

  it('gives the sidecar longer to stop than it takes at the most', () => {
    const sidecar = compose.services['sidecar'];
    const [allowedMs = 0, graceMs = Infinity] = [
      sidecar?.stop_grace_period,
      sidecar?.environment['SHUTDOWN_GRACE'],
    ].map((duration) => parseDuration(String(duration)));
    expect(allowedMs).toBeGreaterThan(graceMs + LONGEST_AFTER_GRACE_MS);
  });

  it('holds no secret: what is called a key, token or password has no value', () => {
    const secrets = services.flatMap(([, { environment }]) =>
      Object.entries(environment).filter(([name]) => /KEY|TOKEN|PASSWORD|SECRET/.test(name)),
    );
    expect(secrets.length).toBeGreaterThan(0);
    expect(secrets.filter(([, value]) => value !== null)).toEqual([]);
    expect(text('deploy/demo.env')).not.toMatch(/(?:KEY|TOKEN|PASSWORD|SECRET)\w*=/);
  });

  it('runs scripts of the examples that exist', () => {
    const scripts = services.flatMap(([, { command = [] }]) => command.filter((word) => word.endsWith('.ts')));
    expect(scripts.length).toBeGreaterThan(0);
    expect(scripts.filter((script) => !existsSync(new URL(script, ROOT)))).toEqual([]);
  });
});

describe('the files in deploy/', () => {
  it('let the collector listen where other containers reach it, and the sidecar send there', () => {
    const collector = parse(text('deploy/otel-collector.yaml')) as {
      receivers: { otlp: { protocols: { http: { endpoint: string } } } };
      service: { pipelines: { traces: { processors: string[] } } };
    };
    expect(collector.receivers.otlp.protocols.http.endpoint).toBe('0.0.0.0:4318');
    expect(collector.service.pipelines.traces.processors[0]).toBe('memory_limiter');
    expect(compose.services['sidecar']?.environment['OTEL_EXPORTER_OTLP_ENDPOINT']).toBe('http://otel-collector:4318');
  });

  it('let Prometheus scrape services that exist', () => {
    const { scrape_configs: jobs } = parse(text('deploy/prometheus.yml')) as {
      scrape_configs: { static_configs: { targets: string[] }[] }[];
    };
    const hosts = jobs.flatMap((job) =>
      job.static_configs.flatMap(({ targets }) => targets.map((target) => target.split(':')[0])),
    );
    for (const host of hosts) expect(Object.keys(compose.services)).toContain(host);
  });

  it('set only variables that the compose file reads', () => {
    const names = [...text('deploy/demo.env').matchAll(/^(\w+)=/gm)].map(([, name = '']) => name);
    const read = new Set([
      ...Object.keys(compose.services['sidecar']?.environment ?? {}),
      ...[...text('docker-compose.yml').matchAll(/\$\{(\w+):-/g)].map((match) => match[1]),
    ]);
    expect(names.filter((name) => !read.has(name))).toEqual([]);
  });
});
