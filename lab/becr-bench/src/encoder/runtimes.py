"""Times the forward pass of a BERT encoder in onnxruntime and PyTorch, for `becr-lab bench encoder`.

usage: runtimes.py MODEL_DIR SEQUENCES LENGTH THREADS SECONDS RUNTIME PRECISION

MODEL_DIR holds config.json and model.safetensors (f32 or f16). All hidden states are outputs, as in our own run.
RUNTIME is `onnxruntime` or `torch`, PRECISION `f32` or, with onnxruntime, `int8`. Prints one JSON object. A process runs one runtime with one number of threads, so
that peak memory and thread pools are its own.

Both runtimes get the best form we know: onnxruntime the fused operators that its own transformer optimizer produces
(Attention, SkipLayerNormalization, BiasGelu) with all graph optimisations, PyTorch the fused attention of
`scaled_dot_product_attention`. int8 is onnxruntime's own dynamic quantisation of that graph, a scale per channel.
"""
import json
import os
import resource
import sys
import tempfile
import time

import numpy as np


def read(directory):
    from safetensors.numpy import load_file

    weights = load_file(os.path.join(directory, "model.safetensors"))
    with open(os.path.join(directory, "config.json")) as file:
        return json.load(file), {name.removeprefix("bert."): w.astype(np.float32) for name, w in weights.items()}


def token_ids(sequences, length, vocabulary):
    """The same ids as our own run: any will do, but no two sequences alike."""
    i, j = np.meshgrid(np.arange(sequences), np.arange(length), indexing="ij")
    return ((i * 977 + j * 31) % vocabulary).astype(np.int64)


def onnx_session(config, w, length, threads, precision):
    import onnx
    import onnxruntime as ort
    from onnx import TensorProto, helper, numpy_helper

    nodes, constants = [], []
    eps = config.get("layer_norm_eps", 1e-12)

    def constant(name, value):
        constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(kind, inputs, output, domain="", **attributes):
        nodes.append(helper.make_node(kind, inputs, [output], domain=domain, **attributes))
        return output

    def linear(x, name, output, bias=True):
        product = node("MatMul", [x, constant(f"{name}.w", w[f"{name}.weight"].T)], f"{output}.product")
        return node("Add", [product, constant(f"{name}.b", w[f"{name}.bias"])], output) if bias else product

    def add_norm(x, y, name, output):
        gamma, beta = constant(f"{name}.g", w[f"{name}.weight"]), constant(f"{name}.n", w[f"{name}.bias"])
        return node("SkipLayerNormalization", [x, y, gamma, beta], output, domain="com.microsoft", epsilon=eps)

    e = "embeddings"
    words = node("Gather", [constant("words", w[f"{e}.word_embeddings.weight"]), "ids"], "word_vectors")
    places = w[f"{e}.position_embeddings.weight"][:length] + w[f"{e}.token_type_embeddings.weight"][0]
    # SkipLayerNormalization wants both terms of one shape: the plain operators serve the embedding layer.
    sums = node("Add", [words, constant("places", places)], "sums")
    norm = [constant(f"{e}.g", w[f"{e}.LayerNorm.weight"]), constant(f"{e}.n", w[f"{e}.LayerNorm.bias"])]
    x = node("LayerNormalization", [sums, *norm], "hidden.0", axis=-1, epsilon=eps)
    for l in range(config["num_hidden_layers"]):
        p = f"encoder.layer.{l}"
        own = [f"{p}.attention.self.{part}" for part in ("query", "key", "value")]
        qkv = constant(f"{p}.qkv", np.concatenate([w[f"{n}.weight"] for n in own]).T)
        bias = constant(f"{p}.qkv_bias", np.concatenate([w[f"{n}.bias"] for n in own]))
        found = node("Attention", [x, qkv, bias], f"{p}.context", domain="com.microsoft", num_heads=config["num_attention_heads"])
        found = linear(found, f"{p}.attention.output.dense", f"{p}.attended")
        x = add_norm(found, x, f"{p}.attention.output.LayerNorm", f"{p}.middle")
        wide = linear(x, f"{p}.intermediate.dense", f"{p}.wide", bias=False)
        wide_bias = constant(f"{p}.wide_bias", w[f"{p}.intermediate.dense.bias"])
        active = node("BiasGelu", [wide, wide_bias], f"{p}.active", domain="com.microsoft")
        x = add_norm(linear(active, f"{p}.output.dense", f"{p}.narrow"), x, f"{p}.output.LayerNorm", f"hidden.{l + 1}")
    outputs = [f"hidden.{l}" for l in range(config["num_hidden_layers"] + 1)]
    shape = ["sequences", length, config["hidden_size"]]
    graph = helper.make_graph(
        nodes,
        "bert",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, ["sequences", length])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in outputs],
        constants,
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    data = model.SerializeToString()
    if precision == "int8":
        data = quantised(data)
    session = ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    return ort.__version__, lambda ids: session.run(outputs, {"ids": ids})


def quantised(data):
    """The graph with weights in int8, a scale per channel, and activations quantised as they come."""
    from onnx import TensorProto
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as folder:
        exact, rough = os.path.join(folder, "f32.onnx"), os.path.join(folder, "int8.onnx")
        with open(exact, "wb") as file:
            file.write(data)
        # The types of fused operators' outputs are not inferred: all are floats.
        floats = {"DefaultTensorType": TensorProto.FLOAT}
        quantize_dynamic(exact, rough, per_channel=True, weight_type=QuantType.QInt8, extra_options=floats)
        with open(rough, "rb") as file:
            return file.read()


def torch_forward(config, w, threads):
    import torch
    import torch.nn.functional as F

    torch.set_num_threads(threads)
    heads, eps = config["num_attention_heads"], config.get("layer_norm_eps", 1e-12)
    w = {name: torch.from_numpy(value.copy()) for name, value in w.items()}
    for l in range(config["num_hidden_layers"]):
        own = [f"encoder.layer.{l}.attention.self.{part}" for part in ("query", "key", "value")]
        for kind in ("weight", "bias"):
            w[f"{l}.qkv.{kind}"] = torch.cat([w[f"{name}.{kind}"] for name in own])

    def linear(x, name):
        return F.linear(x, w[f"{name}.weight"], w[f"{name}.bias"])

    def norm(x, name):
        return F.layer_norm(x, x.shape[-1:], w[f"{name}.weight"], w[f"{name}.bias"], eps)

    @torch.inference_mode()
    def run(ids):
        ids = torch.from_numpy(ids)
        n, s = ids.shape
        e = "embeddings"
        x = w[f"{e}.word_embeddings.weight"][ids] + w[f"{e}.position_embeddings.weight"][:s]
        x = norm(x + w[f"{e}.token_type_embeddings.weight"][0], f"{e}.LayerNorm")
        kept = [x]
        for l in range(config["num_hidden_layers"]):
            p = f"encoder.layer.{l}"
            q, k, v = linear(x, f"{l}.qkv").view(n, s, 3, heads, -1).permute(2, 0, 3, 1, 4)
            found = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, s, -1)
            x = norm(x + linear(found, f"{p}.attention.output.dense"), f"{p}.attention.output.LayerNorm")
            wide = F.gelu(linear(x, f"{p}.intermediate.dense"))
            x = norm(x + linear(wide, f"{p}.output.dense"), f"{p}.output.LayerNorm")
            kept.append(x)
        return [x.numpy() for x in kept]

    return torch.__version__, run


def main():
    directory, sequences, length, threads, seconds, runtime, precision = sys.argv[1:]
    sequences, length, threads, seconds = int(sequences), int(length), int(threads), float(seconds)
    config, weights = read(directory)
    ids = token_ids(sequences, length, config["vocab_size"])
    if runtime == "onnxruntime":
        version, run = onnx_session(config, weights, length, threads, precision)
    else:
        version, run = torch_forward(config, weights, threads)
    out = run(ids)
    walls, cpus, start = [], [], time.monotonic()
    while len(cpus) < 3 or time.monotonic() - start < seconds:
        # Processor time is that of a tenth of a second of passes, as own.rs has it.
        begun, cpu, passes = time.monotonic(), time.process_time(), 0
        while passes == 0 or time.monotonic() - begun < 0.1:
            wall = time.perf_counter()
            out = run(ids)
            walls.append(time.perf_counter() - wall)
            passes += 1
        cpus.append((time.process_time() - cpu) / passes)
    tokens = sequences * length
    result = {
        "runtime": runtime,
        "version": version,
        "tokens_per_second": tokens / min(walls),
        "tokens_per_cpu_second": tokens / min(cpus),
        "milliseconds": 1000 * min(walls),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        # The first token's vector, so that the caller can see that the same thing was computed.
        "probe": [float(x) for x in out[-1].reshape(-1)[: config["hidden_size"]]],
    }
    print(json.dumps(result))


main()
