"""The texts are the same in every run, and say where the rare words are."""

from bench.corpus import Corpus


def test_two_runs_measure_the_same_texts() -> None:
    assert list(Corpus(50).texts()) == list(Corpus(50).texts())
    assert list(Corpus(50).texts()) != list(Corpus(50, seed=1).texts())


def test_rare_words_stand_exactly_where_they_were_planted() -> None:
    corpus = Corpus(400)
    texts = list(corpus.texts())
    last_planted = {row: word for word, rows in corpus.planted_in.items() for row in rows}
    for word, rows in corpus.planted_in.items():
        own = [row for row in rows if last_planted[row] == word]
        assert [number for number, text in enumerate(texts) if word in text] == own


def test_the_common_word_is_common_and_texts_have_the_promised_length() -> None:
    corpus = Corpus(500)
    texts = list(corpus.texts())
    assert sum(corpus.common in text for text in texts) > 50
    assert 350 < sum(map(len, texts)) / len(texts) < 450
