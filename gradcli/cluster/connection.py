"""A Dask cluster: reaching one that runs, or starting one on this machine; which versions its workers have."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import dask
import distributed

from gradcli.cluster.versions import Versions, difference, refusal
from gradcli.errors import DataError, UsageError
from gradcli.plain import Plain

#: seconds that a scheduler is waited for
_PATIENCE = 30
_TALKATIVE = ("distributed", "tornado", "asyncio")
#: settings of local clusters: a task that has ended three workers is given up, and nothing watches what the threads do
_SETTINGS = {
    "distributed.scheduler.allowed-failures": 2,
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1 s",
    "distributed.admin.tick.limit": "1 h",
}


class Place(Plain):
    """Where a cluster is: the address of its scheduler, or its file; "local" is a cluster of `jobs` workers on this machine."""

    scheduler: str | None = None
    scheduler_file: str | None = None
    jobs: int = 1
    tls_ca: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None


@contextmanager
def connected(place: Place) -> Iterator[distributed.Client]:
    """A client of the cluster, whose workers have the versions of this process. Raises DataError, UsageError."""
    # Dask logs which workers come and go; the results tell what matters of that
    warnings.filterwarnings("ignore", module="distributed")
    for name in [*logging.root.manager.loggerDict, "tornado", "asyncio"]:
        if name.startswith(_TALKATIVE):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    with dask.config.set(_SETTINGS):
        cluster = _local(place.jobs) if place.scheduler == "local" else None
        client = None
        try:
            client = _client(place, cluster)
            check_versions(client)
            yield client
        finally:
            _close(client, cluster)


def _local(jobs: int) -> distributed.LocalCluster:
    """A cluster that only this machine reaches."""
    os.environ["PYTHONSAFEPATH"] = "1"  # workers take no module from the working directory
    return distributed.LocalCluster(
        n_workers=jobs,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        memory_limit=0,
        preload=["gradcli.cluster.worker"],
        silence_logs=logging.CRITICAL + 1,
    )


def _client(place: Place, cluster: distributed.LocalCluster | None) -> distributed.Client:
    name = place.scheduler or place.scheduler_file
    try:
        if cluster is not None:
            return distributed.Client(cluster, set_as_default=False)
        if place.scheduler_file is not None and not os.path.isfile(place.scheduler_file):
            raise DataError(f"cannot read {place.scheduler_file}: no such file")
        return distributed.Client(
            place.scheduler,
            scheduler_file=place.scheduler_file,
            security=_security(place),
            timeout=_PATIENCE,
            set_as_default=False,
            direct_to_workers=False,
        )
    except (OSError, TimeoutError) as error:
        why = str(error).partition("\n")[0]
        raise DataError(f"cannot reach the scheduler {name}: {why}", hints=["dask scheduler starts one: see docs/cluster.md"]) from None
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{name} is no scheduler: {error}", hints=["try --scheduler tcp://HOST:8786, or --scheduler local"]) from None


def _security(place: Place) -> distributed.Security | None:
    if place.tls_ca is None:
        return None
    for name in (place.tls_ca, place.tls_cert, place.tls_key):
        if name is not None and not os.path.isfile(name):
            raise DataError(f"cannot read {name}: no such file")
    return distributed.Security(
        tls_ca_file=place.tls_ca, tls_client_cert=place.tls_cert, tls_client_key=place.tls_key, require_encryption=True
    )


def _close(client: distributed.Client | None, cluster: distributed.LocalCluster | None) -> None:
    """Close both; what was lost already says nothing."""
    with suppress(Exception):
        if client is not None:
            client.close(timeout=2)
    with suppress(Exception):
        if cluster is not None:
            cluster.close(timeout=5)


# --- versions ---


def check_versions(client: distributed.Client) -> None:
    """Refuse workers of other versions. Raises DataError."""
    found = client.get_versions(packages=["gradcli"])
    ours: Versions = {name: version for name, version in _installed(found["client"]).items() if version}
    for address, worker in found["workers"].items():
        if why := difference(_installed(worker), ours, address):
            raise refusal(why)


def _installed(found: dict[str, Any]) -> Versions:
    packages = found["packages"]
    python = ".".join(found["host"]["python"].split(".")[:3])
    return {"gradcli": packages.get("gradcli"), "numpy": packages.get("numpy"), "Python": python}
