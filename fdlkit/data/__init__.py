"""Corpora, tokenizers and reproducible pipelines of batches, on Grain."""

from fdlkit.data.batches import BatchIterator
from fdlkit.data.byte_pairs import BytePairTokenizer
from fdlkit.data.corpus import Corpus, Document, Split, StdlibCorpus, TextFiles
from fdlkit.data.describe import DataDescription, check_same_tokenizer, describe
from fdlkit.data.digits import Digits
from fdlkit.data.input_sharding import InputFault, check_input_sharding
from fdlkit.data.mixture import Mixture
from fdlkit.data.ngram import ngram_bits_per_byte
from fdlkit.data.packing import PackedDocuments
from fdlkit.data.pipeline import Pipeline, process_rows
from fdlkit.data.source import InMemory, Source
from fdlkit.data.spec import ArraySpec
from fdlkit.data.synthetic import SyntheticTokens
from fdlkit.data.tokenizer import AsciiTokenizer, ByteTokenizer, Tokenizer
from fdlkit.data.windows import TokenWindows

__all__ = [
    "ArraySpec",
    "AsciiTokenizer",
    "BatchIterator",
    "BytePairTokenizer",
    "ByteTokenizer",
    "Corpus",
    "DataDescription",
    "Digits",
    "Document",
    "InMemory",
    "InputFault",
    "Mixture",
    "PackedDocuments",
    "Pipeline",
    "Source",
    "Split",
    "StdlibCorpus",
    "SyntheticTokens",
    "TextFiles",
    "TokenWindows",
    "Tokenizer",
    "check_input_sharding",
    "check_same_tokenizer",
    "describe",
    "ngram_bits_per_byte",
    "process_rows",
]
