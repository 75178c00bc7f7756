"""Skills that every caller has, without a document (docs/reference/memory-tool.md, section 14)."""

from commonhold.usecases.skill_files import SkillFile

BUILT_IN_SKILLS: dict[str, SkillFile] = {
    "handoff": SkillFile(
        description="Leave the work so that the next session can go on with it.",
        body="""\
Use this when work stops before it is done, or when the user asks to hand it over.

1. Write down what lasts first: put decisions and facts into their documents with the memory
   tool, so that the note can point at them instead of repeating them.
2. Write one note, under 2048 characters:
   - the aim, in one sentence;
   - what is done and where it is (files, documents, branches);
   - what was tried and did not work, and why;
   - the next step, so concrete that it can be started without a question;
   - what waits for somebody's answer.
   Refer to turns of the conversation by their numbers in brackets.
3. Record it with the handoff tool. There is one note a scope: a new one takes the place of
   the one before, which stays in the history.
4. Tell the user that the note is there, and that the next session picks it up with
   continue_session.

Never put a secret into a note.""",
    ),
}
