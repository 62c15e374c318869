"""The options that name a cluster, and reaching it: Dask is loaded here, where one is named, and nowhere else."""

# typer reads annotations at run time, so that they stay objects here

import importlib.util
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from typer import Option

from gradcli.errors import UsageError
from gradcli.plain import Plain

if TYPE_CHECKING:
    from gradcli.cluster.connection import Place


def positive(value: int) -> int:
    """A number of processes. Raises UsageError."""
    if value < 1:
        raise UsageError(f"--jobs takes a number from 1 on, not {value}")
    return value


class Workers(Plain):
    """Who shares the work: processes of this machine, or a cluster."""

    jobs: Annotated[int, Option("--jobs", metavar="N", callback=positive, help="Work with N processes; 1 unless given.")] = 1
    scheduler: Annotated[
        str | None,
        Option("--scheduler", metavar="ADDRESS", help="Work on the Dask cluster at tcp://HOST:PORT; local: one of N workers here."),
    ] = None
    scheduler_file: Annotated[str | None, Option("--scheduler-file", metavar="FILE", help="The cluster whose scheduler wrote FILE.")] = None
    tls_ca: Annotated[str | None, Option("--tls-ca", metavar="FILE", help="Who signs the certificates of the cluster.")] = None
    tls_cert: Annotated[str | None, Option("--tls-cert", metavar="FILE", help="The certificate of this client.")] = None
    tls_key: Annotated[str | None, Option("--tls-key", metavar="FILE", help="The key of that certificate.")] = None

    @property
    def on_cluster(self) -> bool:
        """Whether a cluster is named."""
        return self.scheduler is not None or self.scheduler_file is not None

    def place(self) -> "Place":
        """Where the cluster is. Raises UsageError for options that make no sense, and where Dask is not installed."""
        tls = [name for name, value in zip(_TLS, (self.tls_ca, self.tls_cert, self.tls_key), strict=True) if value is None]
        if self.scheduler is not None and self.scheduler_file is not None:
            raise UsageError("--scheduler and --scheduler-file contradict each other")
        if self.scheduler == "local" and len(tls) < len(_TLS):
            raise UsageError("a local cluster is reached by this machine alone, without certificates")
        if 0 < len(tls) < len(_TLS):
            raise UsageError(f"{tls[0]} is missing: certificates are given by {', '.join(_TLS)}")
        if self.jobs > 1 and self.scheduler != "local":
            raise UsageError("--jobs is for this machine: a cluster has as many workers as were started")
        if missing := [name for name in ("dask", "distributed") if importlib.util.find_spec(name) is None]:
            raise UsageError(f"{missing[0]} is not installed, which --scheduler needs", hints=["pip install 'gradcli[dask]'"])
        from gradcli.cluster.connection import Place

        return Place(self.scheduler, self.scheduler_file, self.jobs, self.tls_ca, self.tls_cert, self.tls_key)

    def refuse_loose(self) -> None:
        """Raise UsageError for certificates without a cluster."""
        given: Sequence[str] = [name for name, value in zip(_TLS, (self.tls_ca, self.tls_cert, self.tls_key), strict=True) if value]
        if given and not self.on_cluster:
            raise UsageError(f"{given[0]} needs --scheduler or --scheduler-file")


_TLS = ("--tls-ca", "--tls-cert", "--tls-key")
