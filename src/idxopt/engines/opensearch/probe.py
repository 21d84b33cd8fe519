"""What the cluster at the other end is and can do, as far as this user may look."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from idxopt.engines.opensearch.wire import Wire
from idxopt.engines.port import Capabilities
from idxopt.errors import EngineError, Unauthorized, Unreachable

DEFAULT_CLAUSES = 1024
DEFAULT_BYTES = 100 * 1024 * 1024
KNN = "opensearch-knn"
COMPONENTS = {
    "org.opensearch.knn.plugin.KNNPlugin": KNN,
    "org.opensearch.neuralsearch.plugin.NeuralSearch": "opensearch-neural-search",
    "org.opensearch.ml.plugin.MachineLearningPlugin": "opensearch-ml",
    "org.opensearch.security.OpenSearchSecurityPlugin": "opensearch-security",
}
_UNITS = {"b": 1, "kb": 1024, "mb": 1024**2, "gb": 1024**3, "tb": 1024**4}


@dataclass
class _Findings:
    """What has been learnt so far; `notes` says what could not be."""

    version: str = ""
    lucene: str = ""
    uuid: str = ""
    engine: Literal["opensearch", "elasticsearch"] = "opensearch"
    notes: list[str] = field(default_factory=list)


def probe(wire: Wire) -> Capabilities:
    """Reads only.

    Raises Unreachable or Unauthorized when nothing can be learnt at all, EngineError for an Elasticsearch cluster.
    """
    found = _Findings()
    _root(wire, found)
    health = _try(wire, "/_cluster/health", found, "the number of nodes", timeout="5s")
    plugins, node_versions = _plugins(wire, found)
    if not plugins:
        plugins = _listed_plugins(wire)
    if not found.version and node_versions:
        found.version = min(node_versions, key=version_key)
    if not found.uuid:
        _identity(wire, found, health)
    limits = _limits(wire, found)
    if not found.version:
        found.notes.append("the version could not be read: scores are taken to be without the factor k1 + 1")
    major = version_key(found.version)[0] if found.version else 3
    return Capabilities(
        engine=found.engine,
        version=found.version or "unknown",
        cluster_uuid=found.uuid,
        # Lucene 9 under OpenSearch 2 scores with LegacyBM25Similarity; from 3.0 (Lucene 10) with BM25Similarity.
        bm25_factor=found.lucene.startswith(("8.", "9.")) if found.lucene else major < 3,
        pipelines=True,
        # One PIT a shard works everywhere, so it is the careful choice where the version is unknown.
        single_pit=bool(found.version) and major >= 3,
        knn=KNN in plugins if plugins else None,
        plugins=plugins,
        nodes=int(health["number_of_data_nodes"]) if "number_of_data_nodes" in health else None,
        max_clauses=limits.get("clauses", DEFAULT_CLAUSES),
        max_request_bytes=limits.get("bytes", DEFAULT_BYTES),
        notes=tuple(found.notes),
    )


def version_key(version: str) -> tuple[int, ...]:
    """`2.19.1-SNAPSHOT` as (2, 19, 1); at least one number."""
    return tuple(int(part) for part in re.findall(r"\d+", version.split("-")[0])) or (0,)


def byte_size(text: str) -> int | None:
    """`100mb` in bytes, as OpenSearch writes sizes; None for anything else."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?b)", text.strip().lower())
    return int(float(found[1]) * _UNITS[found[2]]) if found else None


def common_plugins(nodes: Mapping[str, Any]) -> frozenset[str]:
    """Names of the plugins that every node has. Nodes started from jars report class names: both forms are kept."""
    sets = []
    for node in nodes.values():
        names = set()
        for plugin in (*node.get("plugins", ()), *node.get("modules", ())):
            for key in (plugin.get("name"), plugin.get("classname")):
                if key:
                    names.add(COMPONENTS.get(key, _without_version(key)))
        sets.append(names)
    return frozenset(set.intersection(*sets)) if sets else frozenset()


def _without_version(name: str) -> str:
    return re.sub(r"-\d+(\.\d+)+$", "", name)


def _try(wire: Wire, path: str, found: _Findings, what: str, **params: Any) -> Mapping[str, Any]:
    """The answer, or an empty one and a note. A cluster that is not there or refuses the user ends the probe."""
    try:
        answer = wire.get(path, **params)
    except (Unauthorized, Unreachable):
        raise
    except EngineError as error:
        found.notes.append(f"{what} could not be read (GET {path}: {error.status or 'error'})")
        return {}
    return answer if isinstance(answer, Mapping) else {}


def _root(wire: Wire, found: _Findings) -> None:
    root = _try(wire, "/", found, "name and version of the cluster")
    version = root.get("version")
    if not isinstance(version, Mapping):
        return
    distribution = version.get("distribution")
    if distribution is None and "build_flavor" in version:
        raise EngineError(
            f"this is Elasticsearch {version.get('number')}, not OpenSearch",
            remedy="use an OpenSearch 2.19 or 3.x cluster",
            place=wire.address,
        )
    if distribution != "opensearch":
        found.notes.append(f"the distribution {distribution!r} is not known; it is treated as OpenSearch")
    found.version = str(version.get("number") or "")
    found.lucene = str(version.get("lucene_version") or "")
    found.uuid = str(root.get("cluster_uuid") or "")


def _identity(wire: Wire, found: _Findings, health: Mapping[str, Any]) -> None:
    state = _try(wire, "/_cluster/state/version", found, "the uuid of the cluster")
    found.uuid = str(state.get("cluster_uuid") or "")
    if not found.uuid:
        # Enough to notice that a plan was made for another cluster.
        found.uuid = f"name:{health['cluster_name']}" if health.get("cluster_name") else f"address:{wire.address}"


def _plugins(wire: Wire, found: _Findings) -> tuple[frozenset[str], frozenset[str]]:
    fields = (
        "nodes.*.version,nodes.*.plugins.name,nodes.*.plugins.classname,nodes.*.modules.name,nodes.*.modules.classname"
    )
    answer = _try(wire, "/_nodes/plugins", found, "the plugins", filter_path=fields)
    nodes = answer.get("nodes")
    if not isinstance(nodes, Mapping):
        return frozenset(), frozenset()
    return common_plugins(nodes), frozenset(str(node["version"]) for node in nodes.values() if node.get("version"))


def _listed_plugins(wire: Wire) -> frozenset[str]:
    """The same from `_cat/plugins`, which hosted clusters allow where they keep `_nodes` to themselves."""
    try:
        lines = wire.get("/_cat/plugins", format="json", h="id,component")
    except EngineError:
        return frozenset()
    nodes: dict[str, dict[str, list[dict[str, str]]]] = {}
    for line in lines if isinstance(lines, list) else ():
        if isinstance(line, Mapping) and line.get("component"):
            nodes.setdefault(str(line.get("id")), {"plugins": []})["plugins"].append({"name": str(line["component"])})
    return common_plugins(nodes)


def _limits(wire: Wire, found: _Findings) -> dict[str, int]:
    answer = _try(
        wire,
        "/_cluster/settings",
        found,
        "limits (taken as 1,024 clauses and 100 MB a request)",
        include_defaults="true",
        flat_settings="true",
        filter_path="*.*clause_count,*.*content_length",
    )
    values: dict[str, Any] = {}
    for level in ("defaults", "persistent", "transient"):
        values.update(answer.get(level) or {})
    limits = {}
    clauses = str(values.get("indices.query.bool.max_clause_count", ""))
    if clauses.isdigit():
        limits["clauses"] = int(clauses)
    size = byte_size(str(values.get("http.max_content_length", "")))
    if size:
        limits["bytes"] = size
    return limits
