"""Which files a corpus reads, in what order, and which are held out."""

import os

import pytest

from fdlkit.data import StdlibCorpus, TextFiles
from fdlkit.data.corpus import files_of_split
from fdlkit.errors import UserError


@pytest.fixture
def library(tmp_path):
    """A folder `books` with twelve texts, three of them in a folder of its own."""
    for number in range(12):
        folder = tmp_path / ("books/old" if number % 4 == 3 else "books")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"chapter_{number:02}.txt").write_text(f"text {number}")
    (tmp_path / "books/cover.png").write_bytes(b"\0\1")
    return tmp_path


def names(corpus):
    return [document.name for document in corpus.documents()]


def test_the_standard_library_is_read_without_tests_in_a_fixed_order():
    train, held_out = names(StdlibCorpus()), names(StdlibCorpus(split="eval"))
    assert train == sorted(train)
    assert not set(train) & set(held_out)
    both = {*train, *held_out}
    assert {"dataclasses.py", "json/decoder.py"} <= both
    assert not any("test" in name.split("/")[:-1] for name in both)
    assert not any("site-packages" in name for name in both)
    size = sum(len(document.text) for document in StdlibCorpus().documents())
    assert size > 5_000_000


def test_the_order_does_not_follow_from_how_the_disk_lists_files(monkeypatch):
    expected = names(StdlibCorpus())

    def backwards(root, walk=os.walk):
        for folder, folders, files in walk(root):
            folders.reverse()
            files.reverse()
            yield folder, folders, files

    monkeypatch.setattr(os, "walk", backwards)
    assert names(StdlibCorpus()) == expected


def test_text_files_are_named_relative_to_the_folder_of_the_pattern(
    library, monkeypatch
):
    everything = names(TextFiles(f"{library}/books/**/*.txt", eval_fraction=0.0))
    assert everything == sorted(everything)
    assert len(everything) == 12
    assert "old/chapter_03.txt" in everything
    monkeypatch.chdir(library)
    assert names(TextFiles("books/**/*.txt", eval_fraction=0.0)) == everything
    assert names(TextFiles("books/chapter_00.txt")) == ["chapter_00.txt"]


def test_train_and_eval_share_no_file_and_leave_none_out(library):
    pattern = f"{library}/books/**/*.txt"
    train = names(TextFiles(pattern, eval_fraction=0.3))
    held_out = names(TextFiles(pattern, eval_fraction=0.3, split="eval"))
    assert sorted(train + held_out) == names(TextFiles(pattern, eval_fraction=0.0))
    assert 1 <= len(held_out) <= 8


def test_a_file_keeps_its_side_when_others_come():
    few = [f"{n}.txt" for n in range(200)]
    many = few + [f"new/{n}.txt" for n in range(200)]
    before = files_of_split(few, split="eval", eval_fraction=0.2)
    after = files_of_split(many, split="eval", eval_fraction=0.2)
    assert before == [name for name in after if name in few]
    assert 20 <= len(before) <= 60


def test_of_two_files_neither_side_is_empty():
    for pair in (["a", "b"], ["x.txt", "y.txt"], ["1", "2"]):
        sides = [
            files_of_split(pair, split=split, eval_fraction=fraction)
            for split in ("train", "eval")
            for fraction in (0.001, 0.999)
        ]
        assert [len(side) for side in sides] == [1, 1, 1, 1]


def test_a_single_file_is_trained_on_and_cannot_be_held_out():
    assert files_of_split(["a"], split="train", eval_fraction=0.5) == ["a"]
    with pytest.raises(UserError, match=r"split='eval' of 1 file\(s\) is empty"):
        files_of_split(["a"], split="eval", eval_fraction=0.5)


def test_a_wrong_split_or_fraction_is_refused():
    with pytest.raises(UserError, match="no split 'evl'"):
        StdlibCorpus(split="evl").documents()
    with pytest.raises(UserError, match=r"eval_fraction=1.5 is not between 0 and 1"):
        StdlibCorpus(eval_fraction=1.5).documents()


def test_a_pattern_without_match_names_the_folder_and_near_files(library):
    with pytest.raises(UserError) as error:
        TextFiles(f"{library}/books/chaptre_01.txt").documents()
    what, searched, near, *_ = error.value.lines
    assert what == f"no file matches '{library}/books/chaptre_01.txt'"
    assert searched == f"  searched {library}/books, which holds 13 files"
    assert near.startswith("  there is: chapter_01.txt")


def test_a_pattern_of_a_mistyped_ending_names_the_endings_there_are(library):
    with pytest.raises(UserError) as error:
        TextFiles(f"{library}/**/*.tzt").documents()
    assert error.value.lines == (
        f"no file matches '{library}/**/*.tzt'",
        f"  searched {library}, which holds 13 files",
        "  there is: *.txt",
    )


def test_a_pattern_in_a_folder_that_is_not_there_names_a_near_folder(
    library, monkeypatch
):
    monkeypatch.chdir(library)
    with pytest.raises(UserError) as error:
        TextFiles("boks/*.txt").documents()
    assert error.value.lines == (
        "no file matches 'boks/*.txt'",
        f"  no folder 'boks' in {library}",
        "  there is: books/",
        "  a relative pattern starts in the working directory",
    )


def test_a_file_that_cannot_be_read_is_named(library):
    documents = TextFiles(f"{library}/books/chapter_01.txt").documents()
    (library / "books/chapter_01.txt").unlink()
    with pytest.raises(UserError, match=r"cannot read .*chapter_01.txt: No such file"):
        list(documents)
