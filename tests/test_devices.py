"""The GPU's view with a fake driver, energy, resident memory, the processor's state, and the self-check."""

import time

import numpy as np
import pytest
from frameworks import INSTALLED

from benchmark import backends
from benchmark.metrics import machine, memory
from benchmark.metrics.energy import EnergyMeter
from benchmark.metrics.nvml import Nvml
from benchmark.spec import LAYERS, Unsupported, UserError
from benchmark.spec.devices import parse_device
from benchmark.sweeps.jobs import check_synchroniser


class Process:
    def __init__(self, pid, used):
        self.pid, self.usedGpuMemory = pid, used


class Driver:
    """Two GPUs, the second one cut into two MIG instances."""

    uuids = ("GPU-aaaa", "GPU-bbbb")
    migs = ("MIG-1111", "MIG-2222")

    def __init__(self, missing=(), energy=(5_000, 7_500)):
        self.missing, self.energy = missing, iter(energy)

    def __getattr__(self, name):
        if name in self.missing:
            raise RuntimeError("NVML_ERROR_NOT_SUPPORTED")
        raise AttributeError(name)

    def nvmlInit(self):
        if "driver" in self.missing:
            raise RuntimeError("NVML_ERROR_LIBRARY_NOT_FOUND")

    def nvmlDeviceGetCount(self):
        return 2

    def nvmlDeviceGetHandleByIndex(self, index):
        return self.uuids[index]

    def nvmlDeviceGetUUID(self, handle):
        return handle.encode()

    def nvmlDeviceGetMaxMigDeviceCount(self, handle):
        return 7 if handle == "GPU-bbbb" else 0

    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle, index):
        return self.migs[index]

    def nvmlDeviceGetComputeRunningProcesses(self, handle):
        return [Process(11, 1000), Process(12, None)]

    def nvmlDeviceGetTotalEnergyConsumption(self, handle):
        if "energy" in self.missing:
            raise RuntimeError("NVML_ERROR_NOT_SUPPORTED")
        return next(self.energy)

    def nvmlDeviceGetPowerUsage(self, handle):
        if "power" in self.missing:
            raise RuntimeError("NVML_ERROR_NOT_SUPPORTED")
        return 100_000

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle):
        return 0x4 | 0x40

    def nvmlDeviceGetClockInfo(self, handle, kind):
        return {1: 1500, 2: 2600}[kind]

    def nvmlDeviceGetTemperature(self, handle, kind):
        return 61

    def nvmlDeviceGetName(self, handle):
        return b"NVIDIA Fake"

    def nvmlSystemGetDriverVersion(self):
        return "999.1"


@pytest.mark.parametrize(
    ("visible", "index", "handle"),
    [
        (None, 1, "GPU-bbbb"),
        ("1,0", 0, "GPU-bbbb"),
        ("GPU-bbbb", 0, "GPU-bbbb"),
        ("GPU-b", 0, "GPU-bbbb"),
        ("MIG-2222,0", 0, "MIG-2222"),
        ("MIG-2222,0", 1, "GPU-aaaa"),
    ],
)
def test_devices_are_mapped_as_cuda_maps_them(monkeypatch, visible, index, handle):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert Nvml(index, Driver(), visible).handle == handle


@pytest.mark.parametrize(("visible", "index"), [("GPU-zzzz", 0), ("0", 1), ("", 0)])
def test_a_device_that_is_not_there_has_a_reason(visible, index):
    nvml = Nvml(index, Driver(), visible)
    assert nvml.handle is None
    assert nvml.reason
    assert nvml.energy_j() is nvml.process_bytes() is nvml.other_processes() is None
    assert nvml.state() == nvml.description() == {}


def test_no_driver_is_no_error():
    nvml = Nvml(0, Driver(missing=("driver",)), None)
    assert "NVML_ERROR_LIBRARY_NOT_FOUND" in nvml.reason
    assert nvml.power_w() is None


def test_memory_of_processes():
    nvml = Nvml(0, Driver(), "0")
    assert nvml.process_bytes(11) == 1000
    assert nvml.process_bytes(12) is None  # the driver does not tell, as in some containers
    assert nvml.process_bytes(13) is None
    assert nvml.other_processes() == [11, 12]


def test_state_and_description_hold_what_is_known():
    nvml = Nvml(0, Driver(), "0")
    assert nvml.state() == {
        "sm_clock_mhz": 1500,
        "memory_clock_mhz": 2600,
        "temperature_c": 61,
        "power_w": 100.0,
        "other_processes": [11, 12],
        "throttled_by": ["software power cap", "hardware thermal slowdown"],
    }
    assert nvml.description() == {"gpu": "NVIDIA Fake", "driver": "999.1"}


def test_energy_from_the_counter():
    with EnergyMeter(Nvml(0, Driver(), "0")) as meter:
        pass
    assert meter.result == (2.5, "NVML energy counter")


def test_energy_from_power():
    ticks = iter(np.arange(0, 1000, 0.5))
    with EnergyMeter(Nvml(0, Driver(missing=("energy",)), "0"), clock=lambda: next(ticks), interval_s=0.01) as meter:
        time.sleep(0.1)
    joules, how = meter.result
    assert how == "NVML power, integrated"
    assert joules == pytest.approx(100 * 0.5 * (len(meter.readings) - 1))


def test_energy_that_nobody_tells_has_a_reason(tmp_path):
    for meter in (EnergyMeter(Nvml(0, Driver(missing=("energy", "power")), "0")), EnergyMeter(rapl=tmp_path / "none")):
        with meter:
            pass
        assert meter.result.joules is None
        assert meter.result.how


def test_energy_of_processors(tmp_path):
    for package, name in enumerate(("intel-rapl:0", "intel-rapl:1")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "energy_uj").write_text(str(1_000_000 * (package + 1)))
    with EnergyMeter(rapl=tmp_path) as meter:
        (tmp_path / "intel-rapl:0" / "energy_uj").write_text("4000000")
    assert meter.result == (3.0, "RAPL")
    with EnergyMeter(rapl=tmp_path) as meter:
        (tmp_path / "intel-rapl:0" / "energy_uj").write_text("0")
    assert meter.result == (None, "RAPL wrapped around")


def test_resident_memory_rises_and_its_peak_can_be_reset():
    before = memory.rss_bytes()
    block = np.ones(64 << 20, np.uint8)
    assert memory.rss_bytes() - before > 48 << 20
    del block
    assert memory.rss_peak_bytes() - before > 48 << 20
    if memory.reset_rss_peak():
        assert memory.rss_peak_bytes() - memory.rss_bytes() < 16 << 20


def test_the_processors_state_and_its_warnings(tmp_path):
    (tmp_path / "cpu0/cpufreq").mkdir(parents=True)
    (tmp_path / "cpu0/cpufreq/scaling_cur_freq").write_text("2500000\n")
    (tmp_path / "cpu0/cpufreq/scaling_governor").write_text("powersave\n")
    (tmp_path / "cpu0/thermal_throttle").mkdir()
    (tmp_path / "cpu0/thermal_throttle/core_throttle_count").write_text("3\n")
    before = machine.state(cpu=tmp_path)
    assert (before["cpu_mhz"], before["cpu_throttle_count"]) == (2500, 3)
    assert machine.governor(tmp_path) == "powersave"
    after = before | {"cpu_throttle_count": 4, "throttled_by": ["hardware slowdown"]}
    said = machine.warnings(before | {"load_1min": 9.0}, after, cpus=2)
    assert len(said) == 3
    assert machine.warnings(before | {"load_1min": 0.1}, before, cpus=2) == []
    shared = before | {"load_1min": 0.1, "other_processes": [11, 12]}
    assert machine.warnings(shared, shared, cpus=2) == ["2 other processes computed on the GPU"]


@pytest.mark.parametrize("name", ["cpu:0", "cuda:", "cuda:x", "gpu", "", "cuda:-1", "cuda:99999"])
def test_names_that_are_no_device(name):
    with pytest.raises(UserError, match="unknown device"):
        parse_device(name)


frameworks = pytest.mark.parametrize("framework", INSTALLED)


def prepared(framework, length=4000, **options):
    spec = LAYERS["lru"](d_model=32, d_state=32)
    arrays = {"u": np.ones((4, length, 32), np.float32)}
    settings = {"direction": "forward", "algorithm": "sequential", "device": "cpu", "dtype": "float32"} | options
    return backends.device(framework).prepare(spec, spec.init(0), arrays, **settings)


@frameworks
def test_the_self_check_passes(framework):
    check_synchroniser(backends.device(framework), prepared(framework))


@pytest.mark.skipif("jax" not in INSTALLED, reason="on a CPU torch does not return before its result is there")
def test_the_self_check_fails_without_synchronisation():
    class Careless:
        """The device's module with the wait taken out."""

        def __getattr__(self, name):
            return getattr(backends.device("jax"), name)

        def synchronise(self, outputs):
            pass

    call = prepared("jax", length=50_000)
    backends.device("jax").synchronise(call.run())
    with pytest.raises(UserError, match="self-check"):
        check_synchroniser(Careless(), call)


@frameworks
def test_waiting_takes_trees_with_other_leaves(framework):
    device, call = backends.device(framework), prepared(framework, length=10)
    tree = {"a": call.run(), "b": [None, 3, (call.run(), "text")], "c": 2.5}
    device.synchronise(tree)
    assert device.is_ready(tree)
    assert len(device.leaves(tree)) == 2
    device.synchronise(None)


@frameworks
def test_precisions(framework):
    device = backends.device(framework)
    device.set_precision("fp32", "cpu")
    with pytest.raises(Unsupported, match="tf32 is a format of GPUs"):
        device.set_precision("tf32", "cpu")
    with pytest.raises(UserError, match="unknown precision 'fp8'"):
        device.set_precision("fp8", "cpu")


@frameworks
def test_unknown_memory_has_a_reason(framework):
    device = backends.device(framework)
    device.reset_memory("cpu")
    assert set(device.memory("cpu")) == {"allocator"}
    assert device.device_events("cpu") is None


@frameworks
def test_counters_tell_or_say_why_not(framework):
    device, call = backends.device(framework), prepared(framework, length=10)
    assert device.counted_flops(call)["counter_flops"] > 0
    broken = call._replace(run=lambda: 1 / 0, analysis={"counter": "gone"})
    assert set(device.counted_flops(broken)) == {"counter"}


@frameworks
def test_a_flusher_and_ceilings_run(framework):
    device = backends.device(framework)
    device.cache_flusher("cpu")()
    for name, size in (("product", 64), ("copy", 1 << 16)):
        device.synchronise(device.ceiling(name, size, "cpu", "float32")())


@pytest.mark.parametrize("framework", INSTALLED)
def test_the_algorithm_of_a_call(framework):
    device = backends.device(framework)
    lru, s4d = LAYERS["lru"](d_model=2, d_state=2), LAYERS["s4d"](d_model=2, d_state=2)
    assert device.resolve_call(lru, "auto", "cpu", "default") == "fused"
    assert device.resolve_call(s4d, "auto", "cpu", "default") == "fused"
    assert device.resolve_call(s4d, "auto", "cpu", "compiled") == {"torch": "fft", "jax": "fused"}[framework]
    assert device.resolve_call(s4d, "auto", "cuda", "default") == "fft"
    assert device.resolve_call(LAYERS["s4d"](d_model=2, d_state=256), "auto", "cpu", "default") == "fft"
    many = LAYERS["s4d"](d_model=2, d_state=64)  # 32 modes
    assert [device.resolve_call(many, "auto", "cpu", "default", L) for L in (127, 128)] == ["fft", "fused"]
    with pytest.raises(Unsupported, match="algorithm fused of s4d runs on cpu, not on cuda; take fft"):
        device.resolve_call(s4d, "fused", "cuda", "default")
    assert device.resolve_call(lru, "auto", "cpu", "compiled") == {"torch": "chunked", "jax": "fused"}[framework]
    for name in ("auto", "fft"):
        whole, first = (device.resolve_call(lru, name, place, "default") for place in ("cuda", "cuda:1"))
        assert whole == first


@pytest.mark.skipif("jax" not in INSTALLED, reason="torch is eager by default")
def test_jax_compiles_unless_told_not_to():
    assert prepared("jax", length=10).compile_s > 0
    eager = prepared("jax", length=10, compiled="eager")
    assert eager.compile_s is None
    assert np.asarray(eager.run()).shape == (4, 10, 32)


@pytest.mark.skipif("torch" not in INSTALLED, reason="torch's own")
def test_torch_is_eager_unless_told_to_compile():
    assert prepared("torch", length=10).compile_s is None
