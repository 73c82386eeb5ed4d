import { expect, it } from 'vitest';
import { eventTimes } from '../../bench/proxy/event-times.ts';

const STREAM = [11.5, 12, 13.25].map((at) => `data: {"type":"CUSTOM","value":"ä","timestamp":${at}}\n\n`).join('');

it('reads the time of each event, wherever the bytes are cut', () => {
  const bytes = Buffer.from(STREAM);
  for (let cut = 0; cut <= bytes.length; cut += 1) {
    const times = eventTimes();
    expect([...times(bytes.subarray(0, cut)), ...times(bytes.subarray(cut))]).toEqual([11.5, 12, 13.25]);
  }
});

it('waits for the end of an event', () => {
  const times = eventTimes();
  expect(times(Buffer.from('data: {"timestamp":1'))).toEqual([]);
  expect(times(Buffer.from('7}\n\n'))).toEqual([17]);
});

it('says nothing of an event without a time', () => {
  expect(eventTimes()(Buffer.from('data: {}\n\ndata: {"timestamp":3}\n\n'))).toEqual([3]);
});
