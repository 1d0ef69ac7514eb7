"""The lexicon of verbs, modals and states: an entry on each line, its fields between bars."""

from translate.grammar.conjugation import conjugate, english_forms
from translate.grammar.entries import Modal, State, Verb, rows, verb
from translate.grammar.nouns import of_classes

# english [particle] | french | objects: classes or nouns | flags:
#   stative: no progressive, no adverbs; imperfect: the simple past is an imparfait; fixed: base and past are
#   spelt alike, so no simple past; generic: bare objects take the definite article; nounal: no pronoun as its
#   object; separable: a pronoun precedes the particle; animal: animals do it too; nowhere: takes no place;
#   unwilled: no command and no wish; skill: one knows how to do it; slow, care, quiet, well, alot: the
#   adverbs of manner that it takes
_TRANSITIVE = """
eat/ate/eaten | manger | food | animal slow quiet
drink/drank/drunk | boire | drink | animal slow
buy/bought/bought | acheter | food thing clothes vehicle cycle newspaper nature furniture |
sell/sold/sold | vendre | food thing clothes vehicle cycle house |
see/saw/seen | voir | person animal thing place vehicle sky nature | stative
look at | regarder | view person | nowhere
look for | chercher | thing clothes person animal |
look up | chercher | word answer name | separable nowhere
wait for | attendre | person ride |
listen to | écouter | person tune tale animal |
find/found/found | trouver | thing clothes animal answer |
lose/lost/lost | perdre | thing clothes | unwilled
read/read/read | lire | text tale | slow quiet care fixed skill
write/wrote/written | écrire | letter book tale word | slow care well skill
open | ouvrir | opening container letter book | slow care nowhere
close | fermer | opening container | slow care nowhere
turn on | allumer | device | separable nowhere
turn off | éteindre | device | separable nowhere
wear/wore/worn | porter | clothes | nowhere
wash | laver | clothes vehicle cycle dog horse | care
know/knew/known | connaître | person place tune | stative imperfect
understand/understood/understood | comprendre | matter text tale | stative
love | aimer | person animal food drink place show tune | stative generic
like | aimer bien | person animal food drink place show | stative generic
help | aider | person |
visit | visiter | building city country | nowhere
finish | finir | lesson text tale dish | nowhere
choose/chose/chosen | choisir | thing clothes vehicle food | nowhere
prepare | préparer | dish | slow care skill
drive/drove/driven | conduire | vehicle ride | slow care well skill nowhere
sing/sang/sung | chanter | tune | well skill
speak/spoke/spoken | parler | language | nounal well slow skill
need | avoir besoin de | thing vehicle device person | stative nounal imperfect
remember | se souvenir de | person tale word | stative nounal
have/had/had | avoir | thing animal vehicle cycle house clothes thought | stative imperfect
throw/threw/thrown away | jeter | thing food | separable nowhere
pick up | ramasser | thing | separable nowhere
answer | répondre à | person | slow nowhere
talk to | parler à | person |
think/thought/thought about | penser à | person matter | nounal
"""

# english | french | objects, given to somebody | flags
_DITRANSITIVE = """
give/gave/given | donner | thing food flower letter | nowhere
show/showed/shown | montrer | thing building clothes vehicle | nowhere
send/sent/sent | envoyer | letter book gift picture key | nowhere
lend/lent/lent | prêter | vehicle cycle thing | nowhere
"""

# english | french | | flags, also: motion: leads to a place; source: comes from one; settled: needs a place;
#   ride: trains do it too; être: conjugated with être
_INTRANSITIVE = """
sleep/slept/slept | dormir | | animal well alot
work | travailler | | slow quiet care well alot
dance | danser | | well alot skill
cry | pleurer | | alot quiet
walk | marcher | | animal slow quiet alot
run/ran/run | courir | | animal alot
arrive | arriver | | être ride nowhere unwilled
leave/left/left | partir | | être ride nowhere
fall/fell/fallen | tomber | | être animal nowhere unwilled
live | habiter | | settled stative imperfect
go/went/gone | aller | | être motion
come/came/come back | revenir | | être source
get/got/got up | se lever | | nowhere
rest | se reposer | | animal
hurry | se dépêcher | | nowhere
"""

# english | french | | flags: verbs with a clause as their object
_SAYING = """
think/thought/thought | penser | | stative
know/knew/known | savoir | | stative
say/said/said | dire | | stative
hope | espérer | | stative
"""

# english | french | words before the infinitive | kind and flags | french preposition
_MODALS = """
can/can/can | pouvoir | | bare
must/must/must | devoir | | bare
want | vouloir | to | full stative imperfect
have/had/had | devoir | to | full stative
like | vouloir | to | would
try | essayer | to | full | de
know/knew/known | savoir | how to | full stative
"""

# states of a person or of the weather: english | french verb | french noun | "self" or "weather"
_STATES = """
hungry | avoir | faim | self
thirsty | avoir | soif | self
sleepy | avoir | sommeil | self
right | avoir | raison | self
wrong | avoir | tort | self
cold | faire | froid | weather
hot | faire | chaud | weather
nice | faire | beau | weather
"""


def _verbs(table: str, frame: str = "") -> tuple[Verb, ...]:
    """The verbs of a table; those that take persons as objects get the flag `somebody`, all get `frame`."""
    verbs = []
    for row in rows(table, 4):
        somebody = " somebody" if "person" in row[2].split() else ""
        verbs.append(verb([*row[:3], f"{row[3]} {frame}{somebody}"], of_classes(row[2])))
    return tuple(verbs)


def _modal(row: list[str]) -> Modal:
    flags = row[3].split()
    return Modal(
        english_forms(row[0]), flags[0], tuple(row[2].split()), conjugate(row[1]), row[4], frozenset(flags)
    )


TRANSITIVE = _verbs(_TRANSITIVE)
DITRANSITIVE = _verbs(_DITRANSITIVE, "given")
INTRANSITIVE = _verbs(_INTRANSITIVE)
SAYING = _verbs(_SAYING)
MODALS = tuple(_modal(row) for row in rows(_MODALS, 5))
STATES = tuple(State(r[0], conjugate(r[1]), r[2], r[3]) for r in rows(_STATES, 4))
BE = verb(["be/was/been", "être", "", "stative imperfect"], ())
RAIN = verb(["rain", "pleuvoir", "", ""], ())
SNOW = verb(["snow", "neiger", "", ""], ())
MISS = verb(["miss", "manquer à", "person", "stative swapped somebody"], of_classes("person"))
