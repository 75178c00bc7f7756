"""The texts are the same in every run, and say where the rare words are."""

from bench.corpus import Corpus


def test_two_runs_measure_the_same_texts() -> None:
    assert list(Corpus(500).texts()) == list(Corpus(500).texts())
    assert list(Corpus(500).texts()) != list(Corpus(500, seed=1).texts())


def test_what_is_rare_stands_exactly_where_it_was_planted() -> None:
    corpus = Corpus(1_000)
    texts = list(corpus.texts())
    assert len(corpus.planted_in) == len(corpus.rare_words) + len(corpus.identifiers)
    for word, rows in corpus.planted_in.items():
        assert [number for number, text in enumerate(texts) if word in text] == rows


def test_the_common_word_is_common_and_texts_have_the_promised_length() -> None:
    corpus = Corpus(1_000)
    texts = list(corpus.texts())
    assert 20 < sum(corpus.common in text for text in texts) < 200
    assert 350 < sum(map(len, texts)) / len(texts) < 450
