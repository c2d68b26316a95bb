"""HadoopFolder: files below one path, on whatever file system Spark can write to (local, HDFS, S3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from slidewise.errors import InvalidInput
from slidewise.pipeline.sinks.sink import WriteFailed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: PySpark raises some of Java's exceptions as its own.
JAVA_ERRORS = (Py4JJavaError, PySparkException)


class HadoopFolder:
    """A folder, through the file system that Spark itself uses for the path. Names are relative to it."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        jvm: Any = getattr(spark, "_jvm", None)
        if jvm is None:
            raise InvalidInput(
                f"{path}: files are moved to their places by the driver's JVM, which a session of Spark Connect does "
                f"not have: run the pipeline with a classic session"
            )
        self._new_path = jvm.org.apache.hadoop.fs.Path
        settings = spark._jsparkSession.sessionState().newHadoopConf()
        try:
            given = self._new_path(path)
            self._system: Any = given.getFileSystem(settings)
        except JAVA_ERRORS as error:
            raise InvalidInput(f"{path}: Spark cannot use this path: {reason(error)}") from error
        self.path: str = self._system.makeQualified(given).toString()

    def join(self, name: str) -> str:
        """Give the whole path of a name."""
        return f"{self.path}/{name}" if name else self.path

    def exists(self, name: str = "") -> bool:
        """Tell whether there is such a file or folder."""
        return bool(self._system.exists(self._at(name)))

    def is_file(self, name: str = "") -> bool:
        """Tell whether there is such a file."""
        return self.exists(name) and bool(self._system.getFileStatus(self._at(name)).isFile())

    def names(self, name: str = "") -> list[str]:
        """List a folder, in order; one that is not there is empty."""
        if not self.exists(name):
            return []
        return sorted(status.getPath().getName() for status in self._system.listStatus(self._at(name)))

    def read(self, name: str) -> str:
        """Read a small text file."""
        stream = self._system.open(self._at(name))
        try:
            return bytes(stream.readAllBytes()).decode()
        finally:
            stream.close()

    def write(self, name: str, text: str) -> None:
        """Write a small text file that is there either whole or not at all."""
        unfinished = f"{name}.unfinished"
        stream = self._system.create(self._at(unfinished), True)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()
        self.move(unfinished, name)

    def move(self, name: str, to: str) -> None:
        """Move a file. Where it was moved before, by this process or another one, nothing is left to do."""
        if self.exists(to):  # a store of objects copies and then deletes: a kill leaves both
            self._system.delete(self._at(name), False)
            return
        try:
            self._system.mkdirs(self._at(to).getParent())
            moved = bool(self._system.rename(self._at(name), self._at(to)))
        except JAVA_ERRORS as error:
            moved, why = False, reason(error)
        else:
            why = "the file system refused it"
        if not moved and not self.exists(to):
            raise WriteFailed(f"{self.join(name)} could not be moved to {self.join(to)}: {why}")

    def delete(self, name: str) -> None:
        """Delete a file, or a folder with all that is in it, where it is there."""
        self._system.delete(self._at(name), True)

    def _at(self, name: str) -> Any:
        return self._new_path(self.join(name))


def reason(error: Py4JJavaError | PySparkException) -> str:
    """Tell what Java said, without its stack."""
    return str(error.java_exception.toString() if isinstance(error, Py4JJavaError) else error)
