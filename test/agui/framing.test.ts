import { describe, expect, it } from 'vitest';
import { createSseDecoder } from '../../src/agui/decode-sse.ts';
import { runFinished, runStarted } from './reference-client.ts';
import { encodeFrames, encodeSse, findingsOf, foldBytes, say, sketch, waysToCut } from './streams.ts';

const EVENTS = [runStarted(), ...say('m1', 'Ebbe um 4 – ☁ 🦆\u200d🌊'), runFinished()];
const HELD = [`assistant m1 | ${JSON.stringify('Ebbe um 4 – ☁ 🦆\u200d🌊')}`];
const JSON_EVENTS = EVENTS.map((event) => JSON.stringify(event));

const framed = (frame: (json: string, index: number) => string, before = '', after = ''): string =>
  before + JSON_EVENTS.map(frame).join('') + after;

const FRAMINGS: Readonly<Record<string, { readonly stream: string; readonly findings?: readonly string[] }>> = {
  LF: { stream: framed((json) => `data: ${json}\n\n`) },
  CRLF: { stream: framed((json) => `data: ${json}\r\n\r\n`), findings: ['crlf_framing 0'] },
  CR: { stream: framed((json) => `data: ${json}\r\r`), findings: ['crlf_framing 0'] },
  'LF and then CRLF': {
    stream: framed((json, index) => (index < 2 ? `data: ${json}\n\n` : `data: ${json}\r\n\r\n`)),
    findings: ['crlf_framing 2'],
  },
  'LF between comments in CRLF': { stream: framed((json) => `: ping\r\n\r\ndata: ${json}\n\n`) },
  'a byte order mark': { stream: framed((json) => `data: ${json}\n\n`, '\uFEFF') },
  'no space after the colon': { stream: framed((json) => `data:${json}\n\n`) },
  'event, id and retry fields': {
    stream: framed((json, index) => `event: E${index}\nid: ${index}\nretry: 3000\ndata: ${json}\n\n`),
  },
  'comments within and between events': { stream: framed((json) => `:\n: keep-alive\n\n: x\ndata: ${json}\n: y\n\n`) },
  'several data lines': {
    stream: framed((json) => `data: ${JSON.stringify(JSON.parse(json), null, 1).replaceAll('\n', '\ndata: ')}\n\n`),
  },
  'no blank line at the end': { stream: framed((json) => `data: ${json}\n\n`).trimEnd() },
  'a line end but no blank line at the end': { stream: `${framed((json) => `data: ${json}\n\n`).trimEnd()}\n` },
  'extra blank lines': { stream: framed((json) => `\n\ndata: ${json}\n\n\n`) },
  'a sentinel at the end': {
    stream: framed((json) => `data: ${json}\n\n`, '', 'data: [DONE]\n\n'),
    findings: ['malformed_json 5 [DONE]'],
  },
  'an empty event': {
    stream: framed((json) => `data: ${json}\n\n`, 'data:\n\n'),
    findings: ['malformed_json 0'],
  },
};

/** What a decoder with this bound tells of these pieces. */
function toldAt(maxEventLength: number, pieces: readonly Uint8Array[]): string[] {
  const told: string[] = [];
  const decoder = createSseDecoder({
    maxEventLength,
    onEvent: () => told.push('read'),
    onCarriageReturn: () => told.push('CR'),
    onTooLarge: () => told.push('too large'),
  });
  for (const piece of pieces) decoder.push(piece);
  decoder.end();
  return told;
}

describe('an event stream', () => {
  for (const [name, { stream, findings = [] }] of Object.entries(FRAMINGS)) {
    for (const way of waysToCut(Buffer.from(stream))) {
      it(`with ${name} is read ${way.name}`, async () => {
        const folded = await foldBytes(way.pieces);
        expect(sketch(folded)).toEqual(HELD);
        expect(findingsOf(folded)).toEqual(findings);
        expect(folded.ending).toBe('success');
      });
    }
  }

  it('that breaks off within an event keeps what came before', async () => {
    const whole = encodeSse(EVENTS);
    const folded = await foldBytes([whole.subarray(0, whole.indexOf('TEXT_MESSAGE_END') + 4)]);
    expect(sketch(folded)).toEqual([`${HELD[0]} | partial`]);
    expect(folded.ending).toBe('truncated');
    expect(findingsOf(folded)).toEqual(['malformed_json 3', 'missing_end 4 m1', 'no_terminal_event 4 run']);
  });

  it('reports a failure under `event: error` that has no type', async () => {
    const folded = await foldBytes([
      encodeSse([runStarted()]),
      Buffer.from('event: error\ndata: {"error":"no tide"}\n\n'),
    ]);
    expect(folded.runs).toMatchObject([{ ending: 'run_error', error: { message: 'no tide' } }]);
    expect(findingsOf(folded)).toEqual(['malformed_event 1']);
  });

  it('reports a failure under `event: error` in a custom event without a name', async () => {
    const sse = 'event: error\ndata: {"type":"CUSTOM","data":{"message":"no tide"}}\n\n';
    const folded = await foldBytes([encodeSse([runStarted()]), Buffer.from(sse)]);
    expect(folded.runs).toMatchObject([{ ending: 'run_error', error: { message: 'no tide' } }]);
  });
});

describe('the binary transport', () => {
  for (const way of waysToCut(encodeFrames(EVENTS))) {
    it(`is read ${way.name}`, async () => {
      const folded = await foldBytes(way.pieces, 'protobuf');
      expect(sketch(folded)).toEqual(HELD);
      expect(findingsOf(folded)).toEqual([]);
    });
  }

  it('skips a frame that holds no event and reads on', async () => {
    const broken = Buffer.from([0, 0, 0, 3, 1, 2, 3]);
    const empty = Buffer.alloc(4);
    const folded = await foldBytes(
      [encodeFrames(EVENTS.slice(0, 1)), broken, empty, encodeFrames(EVENTS.slice(1))],
      'protobuf',
    );
    expect(sketch(folded)).toEqual(HELD);
    expect(findingsOf(folded)).toEqual(['undecodable 1', 'undecodable 2']);
  });

  it('that ends within a frame is undecodable from there', async () => {
    const bytes = encodeFrames(EVENTS);
    const folded = await foldBytes([bytes.subarray(0, bytes.length - 2)], 'protobuf');
    expect(findingsOf(folded)).toEqual(['undecodable 4', 'no_terminal_event 4 run']);
  });

  it('with a length beyond belief is undecodable from there', async () => {
    const folded = await foldBytes([encodeFrames(EVENTS), Buffer.from('data: {}\n\n')], 'protobuf');
    expect(sketch(folded)).toEqual(HELD);
    expect(findingsOf(folded)).toEqual(['undecodable 5']);
  });

  describe.each(['', 'id: 1\n', 'event: E\n', ': comment\n'])('around its bound, with %j behind the data', (field) => {
    const MAX = 40;
    const line = (length: number): string => `data: ${'x'.repeat(length)}\n`;

    it.each([
      ['is read at the bound', line(MAX), ['read']],
      ['stops beyond it', line(MAX + 1), ['too large']],
      ['is read at the bound in several lines', line(20) + line(MAX - 21), ['read']],
      ['stops beyond it in several lines', line(20) + line(MAX - 20), ['too large']],
      ['stops far beyond it', line(5000), ['too large']],
      ['tells of CR in what is read', line(MAX).replace('\n', '\r'), ['CR', 'read']],
      ['tells of no CR behind the end', `${line(5000)}\ndata: y\r`, ['too large']],
      ['tells of no CR in a line that never fits', line(5000).replace('\n', '\r'), ['too large']],
    ])('%s, however it is cut', (_, data, expected) => {
      for (const { name, pieces } of waysToCut(Buffer.from(`${data}${field}\n`))) {
        expect({ name, told: toldAt(MAX, pieces) }).toEqual({ name, told: expected });
      }
    });
  });
});

describe('JSON lines', () => {
  const lines = `\uFEFF${JSON_EVENTS.join('\r\n')}\n\n`;
  for (const way of waysToCut(Buffer.from(lines))) {
    it(`are read ${way.name}`, async () => {
      expect(sketch(await foldBytes(way.pieces, 'jsonl'))).toEqual(HELD);
    });
  }
});
