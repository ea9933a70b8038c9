"""What can be downloaded: addresses, checksums, and the files that must be there afterwards.

A source is one published data set. Its parts are what single tasks need of it, so that a task runs while
the rest is absent. An address names either: ``imdb``, ``lra``, ``lra/listops``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmark.spec.errors import unknown


@dataclass(frozen=True)
class File:
    """One file to download. Sizes and sums are None where nobody has published them."""

    name: str
    """Its path below the source's folder."""
    url: str
    size_bytes: int | None = None
    md5: str | None = None
    sha256: str | None = None

    @property
    def is_known(self) -> bool:
        """Whether anything has been published by which the file could be told from another."""
        return bool(self.size_bytes or self.md5 or self.sha256)


@dataclass(frozen=True)
class Need:
    """Files, or folders, that must lie below the root."""

    pattern: str
    """A path, or a glob for many."""
    count: int | None = None
    """How many fit a glob, None where that is not known. A plain path is one file."""
    instead: str = ""
    """Another path that will do."""
    md5: str | None = None
    """Of a plain path, where it has been published."""
    lines: int | None = None
    """Of a plain path of text, a header included, where that has been published."""

    @property
    def is_glob(self) -> bool:
        """Whether it stands for many files."""
        return "*" in self.pattern


@dataclass(frozen=True)
class Part:
    """What a task needs of a source."""

    title: str
    needs: tuple[Need, ...]
    files: tuple[File, ...] = ()
    """Where the part is also served alone: the files themselves, which are not unpacked."""


@dataclass(frozen=True)
class Source:
    """A published data set."""

    name: str
    files: tuple[File, ...]
    parts: Mapping[str, Part]
    """By name; a source of one part has it under the empty name."""
    licence: str
    citation: str
    packed: bool = True
    """Whether the files are archives to unpack, or the data themselves."""
    folders: tuple[str, ...] = ()
    """Names under which its unpacked folder is met; the first is the one that ``get`` makes."""
    download_bytes: int = 0
    """About how much there is to download."""
    unpacked_bytes: int = 0
    """About how much the unpacked files take, 0 where unknown."""

    @property
    def addresses(self) -> list[str]:
        """The address of every part."""
        return [f"{self.name}/{part}" if part else self.name for part in self.parts]


@dataclass(frozen=True)
class Wanted:
    """An address, looked up."""

    address: str
    source: Source
    needs: tuple[Need, ...] = field(repr=False)
    files: tuple[File, ...] = field(repr=False)
    packed: bool


def wanted(address: str) -> Wanted:
    """What an address stands for: a part, or a source with all of its parts. Raises UserError if nothing."""
    name, _, part = address.partition("/")
    if name not in SOURCES:
        raise unknown("data set", name, SOURCES)
    source = SOURCES[name]
    if not part:
        needs = tuple(need for each in source.parts.values() for need in each.needs)
        return Wanted(address, source, needs, source.files, source.packed)
    if part not in source.parts:
        raise unknown(f"part of {name}", part, filter(None, source.parts))
    found = source.parts[part]
    return Wanted(address, source, found.needs, found.files or source.files, source.packed and not found.files)


def _paths(*paths: str) -> tuple[Need, ...]:
    return tuple(map(Need, paths))


def _pathfinder(resolution: int) -> Part:
    folder = f"pathfinder{resolution}/*"
    needs = (Need(f"{folder}/metadata/*.npy"), Need(f"{folder}/imgs/*"))
    return Part(f"LRA Pathfinder, {resolution} x {resolution}", needs)


_LRA = "https://storage.googleapis.com/long-range-arena"
_MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist"
_LISTOPS = {"train": 96_000, "val": 2_000, "test": 2_000}
_LISTOPS_NEEDS = tuple(Need(f"listops-1000/basic_{split}.tsv", lines=1 + rows) for split, rows in _LISTOPS.items())
_AAN = {"train": 147_086, "eval": 18_090, "test": 17_437}
_CIFAR_FILES = (
    ("data_batch_1", "c99cafc152244af753f735de768cd75f"),
    ("data_batch_2", "d4bba439e000b95fd0a9bffe97cbabec"),
    ("data_batch_3", "54ebc095f3ab1f0389bbae665268c751"),
    ("data_batch_4", "634d18415352ddfa80567beed471001a"),
    ("data_batch_5", "482c414d41f54cd18b22e5b47cb7c3cb"),
    ("test_batch", "40351d587109b95175f43aff81a1287e"),
)
_MNIST_FILES = (
    ("train-images-idx3-ubyte", 9_912_422, "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
    ("train-labels-idx1-ubyte", 28_881, "d53e105ee54ea40749a09fcbcd1e9432"),
    ("t10k-images-idx3-ubyte", 1_648_877, "9fb629c4189551a2d022fa330f9573f3"),
    ("t10k-labels-idx1-ubyte", 4_542, "ec29112dd5afa0611ce80d1b7f02629c"),
)

LRA = Source(
    name="lra",
    files=(File("lra_release.gz", f"{_LRA}/lra_release.gz"),),
    parts={
        "listops": Part(
            "LRA ListOps",
            _LISTOPS_NEEDS,
            files=tuple(File(need.pattern, f"{_LRA}/lra_release/{need.pattern}") for need in _LISTOPS_NEEDS),
        ),
        "retrieval": Part(
            "LRA Retrieval: pairs of AAN papers",
            tuple(Need(f"tsv_data/new_aan_pairs.{split}.tsv", lines=rows) for split, rows in _AAN.items()),
        ),
        "pathfinder32": _pathfinder(32),
        "pathfinder128": _pathfinder(128),
    },
    licence="Apache-2.0 (AAN: its own terms)",
    citation="Tay et al. 2021, arXiv 2011.04006",
    folders=("lra_release",),
    download_bytes=7_700_000_000,
)
IMDB = Source(
    name="imdb",
    files=(
        File(
            "aclImdb_v1.tar.gz",
            "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
            84_125_825,
            "7c2ac02c03563afcf9b574c7e56c153a",
            "c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",
        ),
    ),
    parts={
        "": Part(
            "Large Movie Review Dataset",
            tuple(Need(f"{split}/{mood}/*.txt", 12_500) for split in ("train", "test") for mood in ("pos", "neg")),
        )
    },
    licence="research use",
    citation="Maas et al. 2011",
    folders=("aclImdb",),
    download_bytes=84_125_825,
    unpacked_bytes=500_000_000,
)
CIFAR10 = Source(
    name="cifar10",
    files=(
        File(
            "cifar-10-python.tar.gz",
            "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
            170_498_071,
            "c58f30108f718f92721af3b95e74349a",
        ),
    ),
    parts={"": Part("CIFAR-10, Python version", tuple(Need(name, md5=md5) for name, md5 in _CIFAR_FILES))},
    licence="none stated",
    citation="Krizhevsky 2009",
    folders=("cifar-10-batches-py",),
    download_bytes=170_498_071,
    unpacked_bytes=187_000_000,
)
SPEECH_COMMANDS = Source(
    name="speech-commands",
    files=(
        File(
            "speech_commands_v0.02.tar.gz",
            "https://storage.googleapis.com/download.tensorflow.org/data/speech_commands_v0.02.tar.gz",
            md5="6b74f3901214cb2c2934e98196829835",
            sha256="af14739ee7dc311471de98f5f9d2c9191b18aedfe957f4a6ff791c709868ff58",
        ),
    ),
    parts={
        "": Part(
            "Speech Commands v0.02",
            (*_paths("validation_list.txt", "testing_list.txt"), Need("*/*_nohash_*.wav", 105_829)),
        )
    },
    licence="CC BY 4.0",
    citation="Warden 2018, arXiv 1804.03209",
    folders=("speech_commands_v0.02", "speech_commands"),
    download_bytes=2_400_000_000,
    unpacked_bytes=3_800_000_000,
)
MNIST = Source(
    name="mnist",
    files=tuple(File(f"{name}.gz", f"{_MNIST}/{name}.gz", size, md5) for name, size, md5 in _MNIST_FILES),
    parts={"": Part("MNIST, IDX files", tuple(Need(f"{name}.gz", instead=name) for name, _, _ in _MNIST_FILES))},
    licence="none stated",
    citation="LeCun et al. 1998",
    packed=False,
    folders=("MNIST/raw", "MNIST"),
    download_bytes=11_594_722,
)

SOURCES: dict[str, Source] = {source.name: source for source in (LRA, IMDB, CIFAR10, SPEECH_COMMANDS, MNIST)}
"""The whole registry."""
