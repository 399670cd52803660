"""Requests and answers over HTTP: those of NVIDIA's client, those of plain JSON, and those of nobody's good will."""

import json
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from jsonschema import Draft202012Validator

from backends.serving.protocol import DTYPES
from backends.serving.v2_http import HEADER, MAX_JSON, error_body, parse_request, response_body
from backends.serving.v2_schema import ANSWER, ERROR, INFER, METADATA, REQUEST
from zoo.errors import InputError

ARRAYS = st.sampled_from(sorted(DTYPES)).flatmap(
    lambda dtype: arrays(dtype, array_shapes(min_dims=0, max_dims=4, min_side=0))
)
FILE = np.arange(5, dtype=np.uint8)[np.newaxis]
IS_REQUEST, IS_ANSWER, IS_ERROR = (Draft202012Validator(schema) for schema in (REQUEST, ANSWER, ERROR))


def described(name: str, array: np.ndarray, **fields: Any) -> dict[str, Any]:
    return {"name": name, "shape": list(array.shape), "datatype": DTYPES[array.dtype.name], **fields}


def binary_request(inputs: dict[str, np.ndarray], **fields: Any) -> tuple[bytes, str]:
    tensors = [described(name, array, parameters={"binary_data_size": array.nbytes}) for name, array in inputs.items()]
    head = json.dumps({"inputs": tensors, **fields}).encode()
    return head + b"".join(array.tobytes() for array in inputs.values()), str(len(head))


def check_equal(ours: np.ndarray, theirs: np.ndarray) -> None:
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    assert ours.tobytes() == theirs.tobytes()


@given(st.dictionaries(st.text(max_size=5), ARRAYS, max_size=3))
def test_binary_tensors_arrive_as_they_are(inputs: dict[str, np.ndarray]) -> None:
    body, header = binary_request(inputs)
    IS_REQUEST.validate(json.loads(body[: int(header)]))
    request = parse_request(body, header)
    assert list(request.inputs) == list(inputs)
    for name, array in inputs.items():
        check_equal(request.inputs[name], array)
    body, json_bytes = response_body(
        "cars", parse_request(b'{"parameters": {"binary_data_output": true}}', None), inputs
    )
    assert (json_bytes is None) == (not inputs)
    answer = json.loads(body[:json_bytes])
    IS_ANSWER.validate(answer)
    assert answer["model_name"] == "cars"
    sizes = [tensor["parameters"]["binary_data_size"] for tensor in answer["outputs"]]
    assert body[json_bytes or len(body) :] == b"".join(array.tobytes() for array in inputs.values())
    assert sizes == [array.nbytes for array in inputs.values()]


@given(ARRAYS)
def test_numbers_of_json_arrive_as_they_are(array: np.ndarray) -> None:
    array = np.nan_to_num(array)
    array = array if array.dtype not in (np.uint64, np.int64) else array // 2**12  # JSON readers know 53 bits
    body = json.dumps({"inputs": [described("x", array, data=array.tolist())]}).encode()
    IS_REQUEST.validate(json.loads(body))
    check_equal(parse_request(body, None).inputs["x"] + np.zeros((), array.dtype), array + np.zeros((), array.dtype))
    answer, json_bytes = response_body("cars", parse_request(b"{}", None), {"x": array})
    assert json_bytes is None
    (tensor,) = json.loads(answer)["outputs"]
    check_equal(np.array(tensor["data"], array.dtype).reshape(tensor["shape"]), array)
    assert tensor["datatype"] == DTYPES[array.dtype.name]


def test_nvidias_client_is_understood_and_understands() -> None:
    http = pytest.importorskip("tritonclient.http", reason="needs the extra serve, which brings the client")
    given = http.InferInput("file", FILE.shape, "UINT8")
    given.set_data_from_numpy(FILE)
    threshold = http.InferInput("score_threshold", (1, 1), "FP32")
    threshold.set_data_from_numpy(np.full((1, 1), 0.3, np.float32), binary_data=False)
    wanted = [http.InferRequestedOutput("boxes"), http.InferRequestedOutput("labels", binary_data=False)]
    body, json_bytes = http.InferenceServerClient.generate_request_body([given, threshold], wanted, request_id="7")
    request = parse_request(body, str(json_bytes))
    check_equal(request.inputs["file"], FILE)
    check_equal(request.inputs["score_threshold"], np.full((1, 1), 0.3, np.float32))
    assert request.outputs == {"boxes": True, "labels": False}
    boxes, labels = np.zeros((1, 2, 4), np.float32), np.array([[3, 1]])
    answer = response_body("cars", request, {"boxes": boxes, "labels": labels, "scores": boxes})
    result = http.InferenceServerClient.parse_response_body(answer[0], header_length=answer[1])
    check_equal(result.as_numpy("boxes"), boxes)
    check_equal(result.as_numpy("labels"), labels)
    assert result.as_numpy("scores") is None
    assert result.get_response()["id"] == "7"


BODY, SIZE = binary_request({"file": FILE})


def json_input(**fields: Any) -> tuple[bytes, None]:
    return json.dumps({"inputs": [{**described("file", FILE, data=FILE.tolist()), **fields}]}).encode(), None


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ((BODY, "-1"), f"{HEADER}: -1, expected at most {len(BODY)}, the bytes of the body"),
        ((BODY, str(len(BODY) + 1)), f"{HEADER}: {len(BODY) + 1}, expected at most"),
        ((BODY, "9" * 5000), f"{HEADER}: {'9' * 20}, expected"),
        ((BODY, "0"), "the request: not a JSON file"),
        ((BODY, None), "the request: not a JSON file"),
        ((b"[" * 100_000, None), "the request: not a JSON file"),
        ((b"[]", None), "the request: got a JSON list, expected an object"),
        ((BODY[:-1], SIZE), 'input "file": binary_data_size 5, 4 bytes left; expected 5 by its shape'),
        ((BODY + b"x", SIZE), "1 bytes behind the last binary tensor"),
        ((b'{"inputs": 3}', None), "inputs: expected a list of objects"),
        ((b'{"inputs": [3]}', None), "inputs: expected a list of objects"),
        ((b'{"inputs": [{}]}', None), "inputs: one has no name of at most 200 characters"),
        ((b'{"outputs": [{"name": 3}]}', None), "outputs: one has no name of at most 200 characters"),
        ((b'{"parameters": []}', None), "parameters: expected an object"),
        (json_input(name="x" * 201), "inputs: one has no name of at most 200 characters"),
        (json_input(parameters=3), "parameters: expected an object"),
        (json_input(datatype="BYTES"), "datatype BYTES, expected BOOL, "),
        (json_input(datatype=["x" * 500]), "datatype ['xxxx"),
        (json_input(shape=None), "shape None, expected a list of at most 8 integers"),
        (json_input(shape=[1, True]), "shape [1, True], expected a list of at most 8 integers"),
        (json_input(shape=[1] * 65), "expected a list of at most 8 integers"),
        (json_input(shape=[-1, -5]), "shape [-1, -5], expected sides of 0 to "),
        (json_input(shape=[0, 2**64]), "expected sides of 0 to "),
        (json_input(shape=[0, 2**27, 2**27, 2**27], data=[]), f"expected {2**27} numbers at most"),
        (json_input(shape=[1, 6]), "5 numbers in data, expected 6 by its shape"),
        (json_input(data=None), "neither data nor binary_data_size"),
        (json_input(data=["1", "2", "3", "4", "5"]), "data has what is no uint8"),
        (json_input(data=[1, 2, 3, 4, 256]), "data has what is no uint8"),
        (json_input(data=[1, 2, 3, 4, 0.5]), "data has what is no uint8"),
        (json_input(data=[[1, 2], [3, 4, 5]]), "data is no array"),
        (json_input(data=[{}] * 5), "data has what is no uint8"),
        (
            (b'{"inputs": [%s, %s]}' % (2 * (json.dumps(described("file", FILE, data=FILE.tolist())).encode(),)), None),
            "twice",
        ),
    ],
)
def test_what_is_no_request_is_one_line(request_: tuple[bytes, str | None], message: str) -> None:
    with pytest.raises(InputError) as refusal:
        parse_request(*request_)
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 300
    assert json.loads(error_body(str(refusal.value))) == {"error": str(refusal.value)}


def test_texts_among_numbers_take_no_memory() -> None:
    """An array of texts has the length of the longest for each."""
    body, _ = json_input(data=["a" * 20_000, *[""] * 25_000])
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="data has what is no uint8"):
            parse_request(body, None)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 50 * len(body)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
TENSORS = st.lists(
    st.fixed_dictionaries(
        {"name": st.just("file") | JSON_VALUES},
        optional={
            "datatype": st.sampled_from(sorted(DTYPES.values())) | JSON_VALUES,
            "shape": st.lists(st.integers(-1, 4), max_size=3) | JSON_VALUES,
            "data": st.lists(st.integers(0, 255), max_size=6) | JSON_VALUES,
            "parameters": st.fixed_dictionaries({}, optional={"binary_data_size": st.integers(-1, 9) | JSON_VALUES})
            | JSON_VALUES,
        },
    )
    | JSON_VALUES,
    max_size=3,
)


@given(
    st.fixed_dictionaries({"inputs": TENSORS | JSON_VALUES}, optional={"outputs": TENSORS | JSON_VALUES}),
    st.binary(max_size=10),
    st.integers(-5, 5),
)
def test_any_request_is_read_or_refused(fields: dict[str, Any], binary: bytes, shift: int) -> None:
    head = json.dumps(fields).encode()
    try:
        request = parse_request(head + binary, str(len(head) + shift))
    except InputError:
        return
    assert all(isinstance(array, np.ndarray) for array in request.inputs.values())


def test_outputs_that_cannot_be_sent() -> None:
    unknown = parse_request(b'{"outputs": [{"name": "boxs"}]}', None)
    with pytest.raises(InputError, match='unknown output "boxs".*boxes'):
        response_body("cars", unknown, {"boxes": FILE})
    infinite = {"depth": np.array([np.inf], np.float32)}
    with pytest.raises(InputError, match="JSON has not; ask for it with binary_data"):
        response_body("cars", parse_request(b"{}", None), infinite)
    body, json_bytes = response_body(
        "cars", parse_request(b'{"parameters": {"binary_data_output": true}}', None), infinite
    )
    check_equal(np.frombuffer(body[json_bytes:], np.float32), infinite["depth"])


@pytest.mark.parametrize("as_binary", [False, True])
def test_the_json_of_a_request_is_bounded_before_it_is_read(as_binary: bool) -> None:
    head = b'{"inputs": []' + b" " * (MAX_JSON - 14) + b"}"
    assert parse_request(head, str(len(head)) if as_binary else None).inputs == {}
    longer = b" " + head + b"{},"  # not JSON, which nobody reads
    message = (
        f"the request: {MAX_JSON + 1} bytes of JSON, expected at most {MAX_JSON}; send the file as a binary tensor"
    )
    with pytest.raises(InputError, match=message):
        parse_request(*((longer, str(MAX_JSON + 1)) if as_binary else (longer[:-3], None)))


def test_numbers_of_json_hold_a_file_of_half_a_mebibyte() -> None:
    file = np.full((1, 2**19), 255, np.uint8)
    body = json.dumps({"inputs": [described("file", file, data=file.tolist())]}).encode()
    check_equal(parse_request(body, None).inputs["file"], file)


def test_what_a_refusal_quotes_is_one_line_without_escapes() -> None:
    body, _ = json_input(name="a\nb\x1b[31m", datatype="BYTES")
    with pytest.raises(InputError) as refusal:
        parse_request(body, None)
    message = json.loads(error_body(str(refusal.value)))["error"]
    assert message.startswith('the request: input "a\\nb\\x1b[31m": datatype BYTES, expected ')


@pytest.mark.parametrize("schema", [REQUEST, ANSWER, ERROR, METADATA])
def test_the_schemas_are_schemas(schema: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(schema)


def test_a_refusal_has_its_schema() -> None:
    IS_ERROR.validate(json.loads(error_body("no")))


def test_the_example_is_a_request() -> None:
    (example,) = (content["example"] for content in INFER["requestBody"]["content"].values() if "example" in content)
    IS_REQUEST.validate(example)


def test_more_numbers_than_json_should_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backends.serving.v2_http.MAX_NUMBERS", 4)
    label_map = np.zeros((1, 5), np.uint8)
    with pytest.raises(
        InputError, match='output "label_map" has 5 numbers, expected at most 4 as JSON in an answer; ask'
    ):
        response_body("cars", parse_request(b"{}", None), {"label_map": label_map})
    with pytest.raises(InputError, match='output "scores" has 2 numbers, expected at most 4 as JSON in an answer'):
        response_body("cars", parse_request(b"{}", None), {"labels": label_map[:, :3], "scores": label_map[:, :2]})
    binary = parse_request(b'{"parameters": {"binary_data_output": true}}', None)
    assert response_body("cars", binary, {"label_map": label_map})[0].endswith(bytes(5))
    assert response_body("cars", parse_request(b"{}", None), {"label_map": label_map[:, :4]})[1] is None
