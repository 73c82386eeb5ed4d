import type { FuzzTarget } from './target.ts';
import { answers } from './targets/answers.ts';
import { capture } from './targets/capture.ts';
import { chunkExpander } from './targets/chunks.ts';
import { compression } from './targets/compression.ts';
import { conversation } from './targets/conversation.ts';
import { fold } from './targets/fold.ts';
import { protobuf } from './targets/protobuf.ts';
import { rawRequests } from './targets/raw-requests.ts';
import { request } from './targets/request.ts';
import { requests } from './targets/requests.ts';
import { sse } from './targets/sse.ts';

/** All targets. A new one is one file and one line. */
export const TARGETS: readonly FuzzTarget[] = [
  sse,
  protobuf,
  compression,
  chunkExpander,
  fold,
  request,
  capture,
  conversation,
  answers,
  requests,
  rawRequests,
];
