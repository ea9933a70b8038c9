"""Block and model: twins against each other and against a plain numpy model."""

import numpy as np
import pytest
from frameworks import INSTALLED, layers, precision, relative

from benchmark import backends
from benchmark.spec import LAYERS, UserError, reference
from benchmark.spec.model import ModelSpec, subset

H, BATCH, LENGTH = 8, 4, 9
ENDS = np.array([9, 3, 7, 1])
VARIANTS = {
    "published S5": {},
    "layer norm after, full GLU, last step": {
        "norm": "layer",
        "prenorm": False,
        "activation": "full_glu",
        "pooling": "last",
    },
    "tokens, half GLU 2, ragged": {"encoder": "tokens", "inputs": 11, "activation": "half_glu2", "lengths": ENDS},
    "hybrid, ragged": {"attention": 1, "lengths": ENDS},
    "hybrid, layer norm, two blocks": {"attention": 2, "norm": "layer", "prenorm": False},
    "GELU alone, retrieval, ragged": {"activation": "gelu", "head": "retrieval", "lengths": ENDS},
}


def make(options, layer="lru"):
    options = {k: v for k, v in options.items() if k != "lengths"}
    spec = LAYERS[layer](d_model=H, d_state=4, **({"heads": 2} if layer == "rotrnn" else {}))
    return ModelSpec(**({"layer": spec, "depth": 2, "inputs": 2, "outputs": 3} | options))


def inputs(model):
    rng = np.random.default_rng(0)
    if model.encoder == "tokens":
        return rng.integers(0, model.inputs, (BATCH, LENGTH))
    return rng.standard_normal((BATCH, LENGTH, model.inputs))


def run(framework, model, params, stats, x, **options):
    module = backends.layers(framework)
    from importlib import import_module

    apply_model = import_module(f"layers_{framework}.model").apply_model
    array = import_module(f"layers_{framework}.array").asarray
    given, kept = ({k: array(v) for k, v in arrays.items()} for arrays in (params, stats))
    logits, new = apply_model(model, given, kept, x, **options)
    return module.to_numpy(logits), {k: module.to_numpy(v) for k, v in new.items()}


def plain(model, params, stats, x, lengths, train):
    """The same model in numpy, written without the twins' helpers."""
    mask = np.ones((BATCH, LENGTH), bool) if lengths is None else np.arange(LENGTH) < lengths[:, None]
    if model.encoder == "tokens":
        x = np.eye(model.inputs)[x]
    x = x @ params["encoder/W"] + params["encoder/b"]

    def gelu(v):
        return 0.5 * v * (1 + np.tanh(np.sqrt(2 / np.pi) * (v + 0.044715 * v**3)))

    def sigmoid(v):
        return 1 / (1 + np.exp(-v))

    def norm(v, p, s):
        if model.norm == "layer":
            mean, var = v.mean(-1, keepdims=True), v.var(-1, keepdims=True)
        elif train:
            mean, var = v[mask].mean(0), v[mask].var(0)
        else:
            mean, var = s["mean"], s["var"]
        return (v - mean) / np.sqrt(var + 1e-5) * p["scale"] + p["bias"]

    for i in range(model.depth):
        p, s, skip = subset(params, f"block{i}/"), subset(stats, f"block{i}/norm/"), x
        p_norm, glu = subset(p, "norm/"), subset(p, "glu/")
        if model.prenorm:
            x = norm(x, p_norm, s)
        x = reference.apply(model.layer, subset(p, "layer/"), x, lengths)
        g = gelu(x)
        match model.activation:
            case "half_glu1":
                g = g * sigmoid(g @ glu["W"] + glu["b"])
            case "half_glu2":
                g = x * sigmoid(g @ glu["W"] + glu["b"])
            case "full_glu":
                g = (g @ glu["W1"] + glu["b1"]) * sigmoid(g @ glu["W2"] + glu["b2"])
        x = skip + g
        if not model.prenorm:
            x = norm(x, p_norm, s)
    for i in range(model.attention):
        p, s = subset(params, f"attention{i}/"), subset(stats, f"attention{i}/")
        x = x + plain_attention(p, norm(x, subset(p, "norm/"), subset(s, "norm/")))
        hidden = gelu(norm(x, subset(p, "mlp_norm/"), subset(s, "mlp_norm/")) @ p["mlp/W1"])
        x = x + hidden @ p["mlp/W2"]
    ends = mask.sum(1)
    if model.pooling == "mean":
        pooled = np.array([x[row, :end].mean(0) for row, end in enumerate(ends)])
    else:
        pooled = np.array([x[row, end - 1] for row, end in enumerate(ends)])
    if model.head == "retrieval":
        a, b = pooled[: BATCH // 2], pooled[BATCH // 2 :]
        pooled = gelu(np.concatenate([a, b, a - b, a * b], 1) @ params["head/W"] + params["head/b"])
    return pooled @ params["decoder/W"] + params["decoder/b"]


def plain_attention(p, x, heads=4):
    """One query at a time."""
    size, mixed = H // heads, np.zeros_like(x)
    for row, t, head in np.ndindex(len(x), x.shape[1], heads):
        part = slice(head * size, (head + 1) * size)
        query, seen = (x[row, t] @ p["W_q"])[part], x[row, : t + 1]
        logits = (seen @ p["W_k"])[:, part] @ query / np.sqrt(size)
        weights = np.exp(logits - logits.max())
        mixed[row, t, part] = weights / weights.sum() @ (seen @ p["W_v"])[:, part]
    return mixed @ p["W_o"]


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("framework", INSTALLED)
@pytest.mark.parametrize("variant", VARIANTS)
def test_against_plain_numpy(variant, framework, train):
    model, lengths = make(VARIANTS[variant]), VARIANTS[variant].get("lengths")
    params, stats = ({k: v.astype(np.float64) for k, v in arrays.items()} for arrays in model.init(0))
    stats = {k: v + 0.1 for k, v in stats.items()}
    x = inputs(model)
    with precision(framework, "float64"):
        logits, new = run(framework, model, params, stats, x, lengths=lengths, train=train)
    assert relative(logits, plain(model, params, stats, x, lengths, train)) < 1e-9
    changed = any(not np.array_equal(new[name], stats[name]) for name in stats)
    assert changed == (train and model.norm == "batch")


@pytest.mark.parametrize("framework", INSTALLED)
def test_running_statistics_follow_the_batch(framework):
    model = make({"norm_momentum": 0.75})
    params, stats = model.init(0)
    x = inputs(model).astype(np.float32)
    _, new = run(framework, model, params, stats, x, train=True)
    encoded = x @ params["encoder/W"]
    assert np.allclose(new["block0/norm/mean"], 0.25 * encoded.mean((0, 1)), atol=1e-5)
    assert np.allclose(new["block0/norm/var"], 0.75 + 0.25 * encoded.var((0, 1)), atol=1e-5)


@pytest.mark.parametrize("framework", INSTALLED)
def test_how_long_the_padding_is_has_no_say(framework):
    model = make({"encoder": "tokens", "inputs": 11})
    params, stats = model.init(0)
    x = inputs(model)
    longer = np.concatenate([x, np.zeros((BATCH, 5), x.dtype)], 1)
    short, _ = run(framework, model, params, stats, x, lengths=ENDS, train=True)
    long, _ = run(framework, model, params, stats, longer, lengths=ENDS, train=True)
    assert np.allclose(short, long, atol=1e-5)


@pytest.mark.parametrize("framework", INSTALLED)
def test_dropout_takes_whole_features_and_keeps_the_mean(framework):
    from importlib import import_module

    block = import_module(f"layers_{framework}.block")
    if framework == "torch":
        import torch

        rng, x = torch.Generator().manual_seed(0), torch.ones(200, 3, 50)
    else:
        import jax

        rng, x = jax.random.key(0), jax.numpy.ones((200, 3, 50))
    y = layers(framework).to_numpy(block.dropout(x, 0.2, rng))
    assert (y == y[:, :1]).all()
    assert set(np.unique(y)) == {0, np.float32(1.25)}
    assert y.mean() == pytest.approx(1, abs=0.02)


def test_without_attention_a_model_is_drawn_as_before():
    plain_model, hybrid = make({}), make({"attention": 1})
    before, after = plain_model.init(3)[0], hybrid.init(3)[0]
    assert all(np.array_equal(before[name], after[name]) for name in before if not name.startswith("decoder"))
    assert set(after) - set(before) == {f"attention0/{name}" for name in hybrid.attention_shapes}
    assert hybrid.param_count - plain_model.param_count == 4 * H + 4 * H * H + 2 * 4 * H * H


def test_attention_needs_a_width_that_its_heads_divide():
    with pytest.raises(UserError, match="d_model must be divisible by the 4 heads"):
        ModelSpec(layer=LAYERS["lru"](d_model=6, d_state=4), depth=1, inputs=2, outputs=3, attention=1)
    with pytest.raises(UserError, match="attention must be a number of blocks from 0 to 4, got 5"):
        make({"attention": 5})


@pytest.mark.parametrize("framework", INSTALLED)
def test_dropout_in_attention_blocks(framework):
    model = make({"attention": 1, "dropout": 0.5})
    params, stats = model.init(0)
    x = inputs(model).astype(np.float32)
    if framework == "torch":
        import torch

        sources = [torch.Generator().manual_seed(seed) for seed in (0, 0, 1)]
    else:
        import jax

        sources = [jax.random.key(seed) for seed in (0, 0, 1)]
    first, again, other = (run(framework, model, params, stats, x, train=True, rng=s)[0] for s in sources)
    assert np.array_equal(first, again) and not np.allclose(first, other)


@pytest.mark.parametrize("framework", INSTALLED)
def test_wrong_inputs_are_named(framework):
    model = make({})
    params, stats = model.init(0)
    with pytest.raises(UserError, match=r"inputs must be \(batch, length, 2\)"):
        run(framework, model, params, stats, np.zeros((2, 3, 5), np.float32))


def test_the_torch_module_trains_its_parameters():
    torch = pytest.importorskip("torch") if "torch" not in INSTALLED else __import__("torch")
    from layers_torch.model import Model

    model = Model(make({}), seed=1)
    before = model.get_buffer("block0/norm/mean").clone()
    model(torch.randn(3, 5, 2)).sum().backward()
    assert all(p.grad is not None for p in model.parameters())
    assert not torch.equal(before, model.get_buffer("block0/norm/mean"))
    model.eval()
    assert torch.equal(model(torch.ones(1, 2, 2)), model(torch.ones(1, 2, 2)))
