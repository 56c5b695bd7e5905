"""`penstock expr`: try a condition, a mapping or a script on any data before registering it."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from penstock.cli.output import EXIT_FAILED, Format, print_json

if TYPE_CHECKING:
    from penstock.core.model.evaluate import Failure, Json, Program

app = typer.Typer(no_args_is_help=True, help="Try conditions, mappings and scripts.")


class Kind(StrEnum):
    CEL = "cel"
    JSONPATH = "jsonpath"
    SCHEMA = "schema_validation"
    CROSS_NODE = "cross_node_comparison"
    COMPOSITE = "composite"
    PYTHON = "python_sandbox"
    MAPPING = "mapping"
    OUTPUT_MAPPING = "output_mapping"


class Language(StrEnum):
    LUA = "lua"
    ALE = "ale"
    PYTHON = "python"


class Engine(StrEnum):
    FAST = "cel-expr-python"
    PORTABLE = "cel-python"


_JSON_SOURCES = {Kind.SCHEMA: "schema", Kind.COMPOSITE: "conditions"}
_TEXT_SOURCES = {Kind.CEL: "expression", Kind.JSONPATH: "query", Kind.CROSS_NODE: "expression", Kind.PYTHON: "code"}


@app.callback()
def _group() -> None:
    """Try conditions, mappings and scripts."""


@app.command("eval")
def evaluate(
    source: Annotated[str, typer.Argument(help="The expression, condition object or script; @file reads it.")],
    kind: Annotated[Kind, typer.Option("--type", help="What the source is.")] = Kind.CEL,
    language: Annotated[Language | None, typer.Option(help="The source is a script in this language.")] = None,
    output: Annotated[str | None, typer.Option("--output", help="The current output, as JSON.")] = None,
    inputs: Annotated[str | None, typer.Option("--input", help="The run's input; a script's arguments.")] = None,
    state: Annotated[str | None, typer.Option(help="The run's state.")] = None,
    nodes: Annotated[str | None, typer.Option(help='Outputs by node: {"id": {"output": …}}; also `ctx`.')] = None,
    branch: Annotated[str | None, typer.Option(help="The variable `_branch`.")] = None,
    loop: Annotated[str | None, typer.Option(help="The variable `loop`.")] = None,
    operator: Annotated[str | None, typer.Option(help="Operator of a jsonpath or composite condition.")] = None,
    value: Annotated[str | None, typer.Option(help="What a jsonpath condition compares with, as JSON.")] = None,
    invert: Annotated[bool, typer.Option("--invert", help="True where the schema does not match.")] = False,
    engine: Annotated[Engine | None, typer.Option(help="The CEL engine; else the fastest installed.")] = None,
    result_format: Annotated[Format, typer.Option("-o", help="For people, or for programs.")] = Format.TABLE,
) -> None:
    """Evaluate SOURCE and print the result as JSON. Exits with 1 if it does not compile or fails."""
    source = _file(source[1:]) if source.startswith("@") else source
    given = {"output": output, "input": inputs, "state": state, "nodes": nodes, "_branch": branch, "loop": loop}
    variables = {name: _json(text, name) for name, text in given.items() if text is not None}
    if language is not None:
        _print({"result": asyncio.run(_run_script(language, source, variables.get("input", {})))}, result_format)
        return
    options: dict[str, Any] = {"operator": operator} if operator else {}
    options |= {"value": _json(value, "value")} if value is not None else {}
    options |= {"invert": True} if invert else {}
    _print(_evaluate(kind, _source(kind, source, options), variables, engine), result_format)


def _evaluate(kind: Kind, source: Json, variables: dict[str, Json], engine: Engine | None) -> dict[str, Any]:
    from penstock.core.model.evaluate import Failure  # noqa: PLC0415 - keeps `penstock --help` quick
    from penstock.expr.evaluator import ExpressionEvaluator  # noqa: PLC0415 - loads the engines
    from penstock.kit.clock import now  # noqa: PLC0415 - keeps `penstock --help` quick

    evaluator = ExpressionEvaluator(engine.value if engine else None)
    variables = {"now": now(), **variables}
    if kind is Kind.MAPPING:
        result = evaluator.input_mapping(source).evaluate(variables)
    elif kind is Kind.OUTPUT_MAPPING:
        changes = evaluator.output_mapping(source).evaluate(variables)
        result = changes if isinstance(changes, Failure) else [[c.op, ".".join(c.path), c.value] for c in changes]
    else:
        condition = evaluator.condition(source)
        verdicts = asyncio.run(_run_programs(condition.programs, variables)) if condition.programs else {}
        result = condition.evaluate(variables, verdicts)
    answer = {"failure": result} if isinstance(result, Failure) else {"result": result}
    return {**answer, "engine": evaluator.engine}


def _source(kind: Kind, text: str, options: dict[str, Any]) -> Json:
    """The condition object around what was typed; an object that says its type is taken as it is."""
    if kind in {Kind.MAPPING, Kind.OUTPUT_MAPPING}:
        return text if (whole := _maybe(text, dict[str, Any] | list[Any])) is None else whole
    whole = _maybe(text, dict[str, Any])
    if kind is not Kind.SCHEMA and whole is not None and (kind is not Kind.CEL or "type" in whole):
        return {"type": kind.value, **whole}
    if kind in _JSON_SOURCES:
        return {"type": kind.value, _JSON_SOURCES[kind]: _json(text, "SOURCE"), **options}
    return {"type": kind.value, _TEXT_SOURCES[kind]: text, **options}


def _maybe(text: str, kind: object) -> Json:
    """JSON of that kind, or nothing: CEL too may start with a bracket."""
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError:
        return None


async def _run_programs(programs: tuple[Program, ...], variables: dict[str, Json]) -> dict[str, bool | Failure]:
    from penstock.core.errors import PenstockError  # noqa: PLC0415 - keeps `penstock --help` quick
    from penstock.core.model.evaluate import Failure  # noqa: PLC0415 - keeps `penstock --help` quick
    from penstock.expr.script import Scripts  # noqa: PLC0415 - starts sandboxes

    verdicts: dict[str, bool | Failure] = {}
    output, context = variables.get("output"), variables.get("nodes", {})
    async with Scripts(processes=1) as scripts:
        for program in programs:
            limits = {"timeout_ms": program.timeout_ms, "max_memory_mb": program.max_memory_mb}
            try:
                verdicts[program.id] = await scripts.evaluate_python(program.code, output, context, **limits)
            except PenstockError as error:
                verdicts[program.id] = Failure.of(error)
    return verdicts


async def _run_script(language: Language, source: str, values: dict[str, Json]) -> Json:
    from penstock.expr.script import Script, Scripts  # noqa: PLC0415 - starts sandboxes

    async with Scripts(processes=1) as scripts:
        return await scripts.run(Script(language.value, source, tuple(values)), values)


def _print(answer: dict[str, Any], result_format: Format) -> None:
    failure = answer.get("failure")
    if result_format is Format.JSON:
        print_json(answer)
    elif failure is None:
        typer.echo(msgspec.json.encode(answer["result"]).decode())
    else:
        typer.secho(f"{failure.code}: {failure.message}", fg="red", err=True)
    if failure is not None:
        raise typer.Exit(EXIT_FAILED)


def _file(path: str) -> str:
    try:
        return Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{path} cannot be read: {error}"
        raise typer.BadParameter(msg) from None


def _json(text: str, name: str) -> Json:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        msg = f"{name} is not JSON: {error}"
        raise typer.BadParameter(msg) from None
