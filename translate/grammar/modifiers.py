"""The lexicon of adjectives, adverbials, quantities and function words: an entry on each line."""

from translate.grammar.entries import Adjective, Adverbial, adjective, pair, rows
from translate.grammar.nouns import of_classes

# english[/comparative] | french: masculine [before a vowel] [feminine] | before or after the noun | classes
_ADJECTIVES = """
big/bigger | grand | before | animal thing place vehicle furniture clothes nature room piece
small/smaller | petit | before | animal thing place vehicle furniture clothes nature person room piece
beautiful | beau bel belle | before | person animal place vehicle clothes nature tune view sky text
new/- | nouveau nouvel nouvelle | before | thing vehicle clothes device furniture building text cycle
old/older | vieux vieil vieille | before | person animal thing place vehicle clothes device nature
good/- | bon bonne | before | food drink text show matter lesson thought
young/younger | jeune | before | person animal
long/longer | long longue | before | text show lesson tale tune
bad/- | mauvais | before | thought show matter
kind/kinder | gentil gentille | after | person
tall/taller | grand | predicate | person nature
rich/richer | riche | after | person
strong/stronger | fort | after | person animal
happy/happier | heureux | after | person
sad/sadder | triste | after | person tale tune show
tired | fatigué | after | person animal
sick/- | malade | after | person animal
famous | célèbre | after | person place building
intelligent | intelligent | after | person animal
serious | sérieux | after | person matter
funny/funnier | drôle | after | person tale show
active | actif | after | person animal
French/- | français | after | person food text show tune absolute
red/- | rouge | after | thing clothes vehicle nature cycle absolute
blue/- | bleu | after | thing clothes vehicle cycle absolute
green/- | vert | after | thing clothes vehicle cycle furniture absolute
black/- | noir | after | thing clothes vehicle animal cycle absolute
white/- | blanc blanche | after | thing clothes vehicle animal nature building absolute
expensive | cher | after | thing clothes vehicle device building food cycle
heavy/heavier | lourd | after | thing furniture device
empty/- | vide | after | container room absolute
full/- | plein | after | container absolute
clean/- | propre | after | clothes room furniture vehicle opening
fresh/- | frais fraîche | after | food
cold/colder | froid | after | drink dish
hot/hotter | chaud | after | drink dish
difficult | difficile | after | matter lesson text show
interesting | intéressant | after | text show matter thought tale place
"""

# english | french | links | flags: the tenses; "front": moves to the front in French
_TIMES = """
yesterday | hier | | past front
last week | la semaine dernière | 0p0 1p0 1-1 0-2 | past front
last year | l' année dernière | 0p0 1p0 1-1 0-2 | past front
last night | hier soir | 0-0 1-1 | past front
two days ago | il y a deux jours | 2-0 2-1 2-2 0-3 1-4 | past
three weeks ago | il y a trois semaines | 2-0 2-1 2-2 0-3 1-4 | past
this morning | ce matin | 0-0 1-1 | past front
on Monday | lundi | | past future
on Friday | vendredi | | past future
on Sunday | dimanche | | past future
tomorrow | demain | | future front
next week | la semaine prochaine | 0p0 1p0 1-1 0-2 | future front
next year | l' année prochaine | 0p0 1p0 1-1 0-2 | future front
tonight | ce soir | | future front
in two days | dans deux jours | 0-0 1-1 2-2 | future
in an hour | dans une heure | 0-0 1-1 2-2 | future
every day | tous les jours | 0-0 0p1 1p1 1-2 | present
every week | toutes les semaines | 0-0 0p1 1p1 1-2 | present
every morning | tous les matins | 0-0 0p1 1p1 1-2 | present
in the morning | le matin | 0p0 1-0 2-1 | present front
in the evening | le soir | 0p0 1-0 2-1 | present front
in summer | en été | 0-0 1-1 | present
in winter | en hiver | 0-0 1-1 | present
at night | la nuit | 0p0 1p0 1-1 | present front
now | maintenant | | progressive
today | aujourd'hui | | progressive past future
after lunch | après le déjeuner | 0-0 1p1 1-2 | past future
before dinner | avant le dîner | 0-0 1p1 1-2 | past future
"""

# english | french | links | flags:
#   mid: before the English verb; any, perfect: in other tenses; slow, care, quiet, well, alot: manner, with
#   verbs of the same flag; early: before a French participle; late: after the French object; degree: with
#   adjectives
_ADVERBS = """
often | souvent | | mid
always | toujours | | mid
sometimes | parfois | | mid
rarely | rarement | | mid
also | aussi | | mid any
already | déjà | | perfect
well | bien | | well early
slowly | lentement | | slow
quickly | rapidement | | slow
carefully | avec soin | 0-0 0-1 | care late
quietly | en silence | 0-0 0-1 | quiet late
together | ensemble | | plural late
a lot | beaucoup | 0p0 1-0 | alot early
too much | trop | 0-0 1p0 | alot early
very | très | | degree
too | trop | | degree
really | vraiment | | degree
"""

# english | french | links | flags: before a noun and its adjectives, without an article
_QUANTITIES = """
many | beaucoup de | 0-0 0p1 | plural
a lot of | beaucoup de | 0p0 1-0 2-1 | plural mass
too many | trop de | 0-0 0p1 1p1 | plural
too much | trop de | 0-0 0p1 1p1 | mass
enough | assez de | 0-0 0p1 | plural mass
a little | un peu de | 0p0 1p0 1-1 1p2 | mass
several | plusieurs | | plural
a few | quelques | 0p0 1-0 | plural
every | chaque | | single
two | deux | | plural number
three | trois | | plural number
four | quatre | | plural number
five | cinq | | plural number
six | six | | plural number
seven | sept | | plural number
eight | huit | | plural number
nine | neuf | | plural number
ten | dix | | plural number
twelve | douze | | plural number
twenty | vingt | | plural number
a hundred | cent | | plural number
how many | combien de | 0p0 1-0 1p1 | asked
"""

# preposition | places of persons and animals | places of things; as classes or nouns
_PLACES = """
in | inside room | container room
near | place tree | furniture
behind | building tree | door furniture
in front of | building goal | window
next to | goal | furniture
on | top | furniture
under | tree | furniture
at | goal |
"""

# english | french | links | flags
_WORDS = """
and | et | | join
but | mais | | join
because | parce que | 0-0 0-1 | join
when | quand | | join
if | si | | join
where | où | | ask
when | quand | | ask
why | pourquoi | | ask
not | ne pas | 0-0 0-1 | negation
never | ne jamais | 0-0 0-1 | negation
no longer | ne plus | 0-0 1-1 0p1 1p0 | negation
in | dans |
near | près de | 0-0 0-1
behind | derrière |
in front of | devant | 0p0 1-0 2p0
next to | à côté de | 0-0 0-1 0p2 1-2
on | sur |
under | sous |
at | à |
to | à |
from | de |
with | avec |
without | sans |
as | aussi | | comparison
more | plus | | comparison
less | moins | | comparison
"""


def _adverbials(table: str) -> tuple[Adverbial, ...]:
    return tuple(Adverbial(pair(r[0], r[1], r[2]), frozenset(r[3].split())) for r in rows(table, 4))


ADJECTIVES: tuple[Adjective, ...] = tuple(adjective(row) for row in rows(_ADJECTIVES, 4))
TIMES = _adverbials(_TIMES)
ADVERBS = _adverbials(_ADVERBS)
QUANTITIES = _adverbials(_QUANTITIES)
WORDS = _adverbials(_WORDS)
WORD: dict[str, Adverbial] = {" ".join(word.pair.english): word for word in WORDS if "ask" not in word.flags}
PLACES = tuple((WORD[r[0]], of_classes(r[1]), of_classes(r[2])) for r in rows(_PLACES, 3))
