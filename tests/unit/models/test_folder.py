"""What a model's folder says, in the forms that exporters write it."""

import json
from pathlib import Path

import pytest

from idxopt.errors import ConfigError, ModelError
from idxopt.models.folder import fingerprint, longest, onnx_file, read_folder, tokenizer_file
from idxopt.models.settings import ModelSettings

POOLING = {"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}
ENCODER = {"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"}


def folder(path: Path, **files: object) -> ModelSettings:
    """A folder with these JSON files (`a__b` is a/b.json) and a tokenizer."""
    contents = {"config": {"hidden_size": 8, "max_position_embeddings": 512}, "tokenizer": {}} | files
    for name, value in contents.items():
        file = path / (name.replace("__", "/") + ".json")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(value), encoding="utf-8")
    return ModelSettings(provider="onnx", path=str(path))


@pytest.mark.parametrize(
    ("config", "way", "other"),
    [
        ({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}, "mean", ()),
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls", ()),
        ({"pooling_mode_lasttoken": True}, "last", ()),
        ({"pooling_mode": "lasttoken"}, "last", ()),
        ({"pooling_mode": "mean", "include_prompt": True}, "mean", ()),
        ({"pooling_mode": ["mean"]}, "mean", ()),
        ({"pooling_mode_max_tokens": True}, None, ("Pooling (max_tokens)",)),
        (
            {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True},
            None,
            ("Pooling (mean_tokens, cls_token)",),
        ),
    ],
)
def test_pooling_of_old_and_new_files(tmp_path, config, way, other):
    found = read_folder("m", folder(tmp_path, modules=[ENCODER, POOLING], **{"1_Pooling__config": config}))
    assert (found.pooling, found.modules) == (way, other)


def test_a_folder_without_modules_pools_by_the_mean(tmp_path):
    found = read_folder("m", folder(tmp_path))
    assert (found.pooling, found.max_tokens, found.width, found.normalizes) == ("mean", 512, 8, False)


def test_stages_behind_the_pooling_are_named(tmp_path):
    stages = [ENCODER, POOLING, {"type": "sentence_transformers.models.Dense", "path": "2_Dense"}]
    stages.append({"type": "sentence_transformers.sentence_transformer.modules.normalize.Normalize", "path": "3"})
    config = {"pooling_mode_mean_tokens": True}
    found = read_folder("m", folder(tmp_path, modules=stages, **{"1_Pooling__config": config}))
    assert (found.modules, found.normalizes) == (("Dense",), True)


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({"sentence_bert_config": {"max_seq_length": 256}}, 256),
        ({"sentence_bert_config": {"max_seq_length": 1024}}, 512),
        ({"sentence_bert_config": {"max_seq_length": None}, "tokenizer_config": {"model_max_length": 128}}, 128),
        ({"tokenizer_config": {"model_max_length": 1000000000000000019884624838656}}, 512),
        ({"config": {}, "tokenizer_config": {"model_max_length": 1e30}}, None),
        ({"config": {"model_type": "xlm-roberta", "max_position_embeddings": 514, "pad_token_id": 1}}, 512),
    ],
)
def test_the_limit_is_the_least_that_is_said(tmp_path, files, limit):
    assert read_folder("m", folder(tmp_path, **files)).max_tokens == limit


def test_the_program_s_limit_comes_first(tmp_path):
    found = read_folder("m", folder(tmp_path, sentence_bert_config={"max_seq_length": 256}))
    assert [longest(asked, found, "p") for asked in (None, 64, 512)] == [256, 64, 512]
    with pytest.raises(ConfigError, match="at most 512"):
        longest(513, found, "p")


def test_prompts_are_read(tmp_path):
    prompts = {"query": "query: ", "document": "passage: "}
    found = read_folder("m", folder(tmp_path, config_sentence_transformers={"prompts": prompts}))
    assert found.prompts == prompts


@pytest.mark.parametrize("text", ["{", "[1]", '"text"', "\ufeff{}"])
def test_a_broken_file_is_named(tmp_path, text):
    settings = folder(tmp_path)
    (tmp_path / "config.json").write_text(text, encoding="utf-8")
    with pytest.raises(ModelError) as caught:
        read_folder("m", settings)
    assert caught.value.place == str(tmp_path / "config.json")


def test_the_onnx_file_is_found_or_asked_for(tmp_path):
    settings = folder(tmp_path)
    with pytest.raises(ConfigError, match=r"has no model.onnx or onnx/model.onnx") as caught:
        onnx_file("m", settings)
    assert "export" in (caught.value.remedy or "")
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx" / "model_quantized.onnx").touch()
    with pytest.raises(ConfigError) as caught:
        onnx_file("m", settings)
    assert "onnx/model_quantized.onnx" in (caught.value.remedy or "")
    (tmp_path / "onnx" / "model.onnx").touch()
    assert onnx_file("m", settings) == tmp_path / "onnx" / "model.onnx"
    named = settings.model_copy(update={"file": "onnx/model_quantized.onnx"})
    assert onnx_file("m", named).name == "model_quantized.onnx"


def test_the_tokenizer_may_be_elsewhere(tmp_path):
    settings = folder(tmp_path / "model")
    other = folder(tmp_path / "other")
    assert tokenizer_file("m", settings) == tmp_path / "model" / "tokenizer.json"
    for named in (other.path, f"{other.path}/tokenizer.json"):
        assert tokenizer_file("m", settings.model_copy(update={"tokenizer": named})) == (
            tmp_path / "other" / "tokenizer.json"
        )
    assert tokenizer_file("m", ModelSettings(provider="http", url="http://localhost")) is None
    with pytest.raises(ConfigError, match="no folder"):
        read_folder("m", settings.model_copy(update={"path": str(tmp_path / "gone")}))


def test_a_fingerprint_sees_start_middle_and_end(tmp_path):
    file = tmp_path / "weights"
    seen = set()
    for place in (None, 0, 4 << 20, (8 << 20) - 1):
        data = bytearray(8 << 20)
        if place is not None:
            data[place] = 1
        file.write_bytes(bytes(data))
        seen.add(fingerprint(file))
    file.write_bytes(bytes((8 << 20) + 1))
    seen.add(fingerprint(file))
    assert len(seen) == 5
