import { describe, expect, it } from 'vitest';
import { createRouter } from '../../src/proxy/route.ts';
import { createProxyServer } from '../../src/proxy/server.ts';
import { ask, httpAgent, proxyOptions, rawClient, startProxy } from './support.ts';

const ROUTER = createRouter([
  { name: 'root', match: '/', basePath: '/' },
  { name: 'travel', match: '/travel', basePath: '/agent' },
  { name: 'hotels', match: '/travel/hotels/', basePath: '/v1/' },
  { name: 'bare', match: '/bare', basePath: '/' },
]);

describe('the mapping of paths', () => {
  it.each([
    ['/', 'root', '/', '/'],
    ['/run?x=1', 'root', '/run?x=1', '/run?x=1'],
    ['/travelling', 'root', '/travelling', '/travelling'],
    ['/Travel', 'root', '/Travel', '/Travel'],
    ['/travel', 'travel', '/agent', '/'],
    ['/travel/', 'travel', '/agent', '/'],
    ['/travel?a=/b', 'travel', '/agent?a=/b', '/?a=/b'],
    ['/travel/run', 'travel', '/agent/run', '/run'],
    ['/travel/run/', 'travel', '/agent/run/', '/run/'],
    ['/travel//run', 'travel', '/agent//run', '//run'],
    ['/travel/a%2Fb?q=%20', 'travel', '/agent/a%2Fb?q=%20', '/a%2Fb?q=%20'],
    ['/travel/hotelsX', 'travel', '/agent/hotelsX', '/hotelsX'],
    ['/travel/hotels', 'hotels', '/v1/', '/'],
    ['/travel/hotels/', 'hotels', '/v1/', '/'],
    ['/travel/hotels/x', 'hotels', '/v1/x', '/x'],
    ['/bare', 'bare', '/', '/'],
    ['/bare?', 'bare', '/?', '/?'],
    ['//evil.example/x', 'root', '//evil.example/x', '//evil.example/x'],
    ['http://evil.example/travel/run?x', 'travel', '/agent/run?x', '/run?x'],
    ['http://evil.example', 'root', '/', '/'],
    ['http://evil.example?x', 'root', '/?x', '/?x'],
    ['/a/../b', 'root', '/a/../b', '/a/../b'],
    ['/travel/..hidden', 'travel', '/agent/..hidden', '/..hidden'],
    ['*', 'root', '*', '*'],
  ])('%s goes to %s as %s', (target, agent, upstream, agentPath) => {
    const route = ROUTER(target);
    expect([route?.agent.name, route?.target, route?.agentPath]).toEqual([agent, upstream, agentPath]);
  });

  it.each([
    '/travel/../admin',
    '/travel/x/..',
    '/travel/%2e%2E/admin',
    '/travel/..%2fadmin',
    '/travel/..\\admin',
    '/bare/..',
    '/travel/..#x',
  ])('does not let %s climb out of its prefix', (target) => {
    expect(ROUTER(target)).toBeNull();
  });

  it('finds nothing where no prefix covers the path', () => {
    const router = createRouter([{ name: 'travel', match: '/travel', basePath: '/' }]);
    expect(router('/')).toBeNull();
    expect(router('/travelling')).toBeNull();
    expect(router('*')).toBeNull();
  });

  it('refuses two agents with one match', () => {
    const agents = ['/a', '/a/'].map((match) => ({ name: match, match, basePath: '/' }));
    expect(() => createRouter(agents)).toThrow(/"\/a" and "\/a\/" both have match/);
  });

  it('refuses a match that is no path', () => {
    expect(() => createRouter([{ name: 'x', match: 'x', basePath: '/' }])).toThrow(/starts with "\/"/);
  });
});

describe('agents', () => {
  it('are reached by their prefix, each at its own url', async () => {
    const [one, two] = await Promise.all(
      ['one', 'two'].map((name) => httpAgent((request, response) => response.end(`${name} ${request.url}`))),
    );
    const sidecar = await startProxy('', {
      agents: [
        { name: 'one', url: `${one!.url}/base`, match: '/one' },
        { name: 'two', url: two!.url, match: '/two' },
      ],
    });

    expect((await ask(`${sidecar.url}/one/run?x=1`)).body.toString()).toBe('one /base/run?x=1');
    expect((await ask(`${sidecar.url}/two`)).body.toString()).toBe('two /');
  });

  it('get no request that no prefix covers: the client reads a 404', async () => {
    const agent = await httpAgent(() => expect.unreachable());
    const sidecar = await startProxy('', { agents: [{ name: 'one', url: agent.url, match: '/one' }] });

    const answer = await ask(`${sidecar.url}/other`, { method: 'POST' }, 'body');

    expect(answer).toMatchObject({ status: 404, headers: { 'content-type': 'application/json' } });
    expect(JSON.parse(answer.body.toString())).toEqual({
      error: { code: 'no_route', message: expect.stringContaining('`match`') },
    });
    expect(sidecar.requests).toEqual([]);
  });

  it('are never chosen by the client: an absolute request target is routed by its path', async () => {
    const agent = await httpAgent((request, response) => response.end(`reached at ${request.url}`));
    const other = await httpAgent(() => expect.unreachable());
    const sidecar = await startProxy(agent.url);

    const client = rawClient(
      sidecar.port,
      `GET ${other.url}/secret HTTP/1.1\r\nHost: 127.0.0.1:${other.port}\r\nConnection: close\r\n\r\n`,
    );
    await client.closed;

    expect(client.received()).toContain('reached at /secret');
  });

  it.each([
    ['ftp://x', /not http:, https: or unix:/],
    ['localhost:8000', /not http:, https: or unix:/],
    ['http://user:secret@x', /credentials/],
    ['http://x/?key=1', /query/],
  ])('with the url %s are refused', (url, message) => {
    const options = proxyOptions(url);
    expect(() => createProxyServer(options)).toThrow(message);
    expect(() => createProxyServer(options)).not.toThrow(/secret/);
  });
});
