// A scorer with ONNX Runtime, which can only infer: the parameters are inputs of the graph, and each query feeds them anew.
//
//   node onnx.mjs net.onnx                 after: npm install onnxruntime-node, python3 model.py net.onnx
//   node onnx.mjs net.onnx adapter.json    the fleet trains chosen parameters alone: an adapter of the form coords, with a base
//
// In the node file: "oracle": {"stream": ["node", "onnx.mjs", "net.onnx"], "format": "cbor"}. examples/scorer/README.md describes
// every byte of the frames.
import { readFileSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import * as ort from 'onnxruntime-node'

const SAMPLES = 60
const shapes = { w1: [16, 8], b1: [16], w2: [3, 16], b2: [3] }
const size = shape => shape.reduce((a, b) => a * b, 1)
const task = process.argv[3] && JSON.parse(readFileSync(process.argv[3]))
const adapter = task?.adapter // x = base, plus the numbers of a query at the chosen parameters
const dim = adapter?.dim ?? Object.values(shapes).map(size).reduce((a, b) => a + b)
const base = adapter && new Float32Array(Uint8Array.from(readFileSync(join(dirname(process.argv[3]), adapter.base.file))).buffer)
const chosen = adapter && adapter.ranges.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, i) => first + i))

function expand(c) {
  if (!adapter) return c
  const x = base.slice()
  chosen.forEach((i, k) => { x[i] += c[k] })
  return x
}

// The device's own data; those of model.py.
const rows = Array.from({ length: SAMPLES }, (_, h) => Float32Array.from({ length: 8 }, (_, j) => Math.sin((h + 1) * (j + 1) * 1.7)))
const labels = rows.map(r => [r[0], r[1], -r[0] - r[1]]).map(s => s.indexOf(Math.max(...s)))

const session = await ort.InferenceSession.create(process.argv[2], { intraOpNumThreads: 1, logSeverityLevel: 3 })

async function loss(x, sample) {
  const feeds = { row: new ort.Tensor('float32', rows[sample], [1, 8]) }
  let at = 0
  for (const [name, shape] of Object.entries(shapes)) {
    feeds[name] = new ort.Tensor('float32', x.slice(at, at + size(shape)), shape)
    at += size(shape)
  }
  const { p } = await session.run(feeds)
  return (1 - p.data[labels[sample]]) ** 2
}

function write(frame) { // whole, also where a pipe takes a part
  const b = Buffer.concat([Buffer.alloc(4), frame])
  b.writeUInt32LE(frame.length)
  for (let at = 0; at < b.length;) at += writeSync(1, b, at)
}

function answer(id, value) {
  const b = Buffer.alloc(21)
  b.set([0xa2, 1, 0x1b])
  b.writeBigUInt64BE(id, 3)
  b.set([2, 0xfb], 11)
  b.writeDoubleBE(value, 13)
  write(b)
}

const hello = Buffer.from([0xa3, 1, 1, 2, 0x1a, 0, 0, 0, 0, 3, 0x1a, 0, 0, 0, 0])
hello.writeUInt32BE(dim, 5)
hello.writeUInt32BE(SAMPLES, 11)
if (task) {
  const text = Buffer.from(JSON.stringify(task)), head = Buffer.from([4, 0x7a, 0, 0, 0, 0])
  head.writeUInt32BE(text.length, 2)
  hello[0] = 0xa4
  write(Buffer.concat([hello, head, text]))
} else write(hello)

let got = Buffer.alloc(0)
for await (const piece of process.stdin) {
  got = Buffer.concat([got, piece])
  while (got.length >= 33 + 4 * dim) {
    const id = got.readBigUInt64BE(7)
    const x = Float32Array.from({ length: dim }, (_, i) => got.readFloatLE(33 + 4 * i))
    answer(id, await loss(expand(x), Number(got.readBigUInt64BE(17))))
    got = got.subarray(33 + 4 * dim)
  }
}
