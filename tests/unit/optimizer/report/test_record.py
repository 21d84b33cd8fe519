import json

import pytest

from idxopt.errors import EvaluationError
from idxopt.optimizer.record import StudyRecord
from tests.unit.optimizer.report.records import empty, filled


@pytest.mark.parametrize("record", [empty(), filled(0), filled(1, queries=1), filled(9)], ids=["empty", "0", "1", "9"])
def test_a_record_read_back_is_equal(record):
    assert StudyRecord.from_json(record.to_json()) == record


def test_a_record_with_a_wrong_value_is_refused_by_its_place():
    plain = json.loads(filled(2).to_json())
    plain["trials"][1]["round"] = "soon"
    with pytest.raises(EvaluationError, match=r"trials\.1\.round"):
        StudyRecord.from_json(json.dumps(plain))


def test_a_record_of_another_version_is_refused():
    plain = json.loads(empty().to_json())
    with pytest.raises(EvaluationError, match="version 99"):
        StudyRecord.from_json(json.dumps({**plain, "version": 99}))


def test_what_is_no_json_is_refused():
    with pytest.raises(EvaluationError, match="wrong"):
        StudyRecord.from_json("<html>")
