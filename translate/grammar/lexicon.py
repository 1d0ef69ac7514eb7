"""The bilingual word lists: one entry a line, its fields between bars; `entries` says how each is read."""

from translate.grammar.conjugation import conjugate, english_forms
from translate.grammar.entries import (
    Adjective,
    Adverbial,
    Modal,
    Name,
    Noun,
    Pronoun,
    State,
    Verb,
    adjective,
    noun,
    pair,
    rows,
    verb,
)

# english | french | gender | classes | links. "mass": no plural and no number; "single": no plural
_NOUNS = """
man/men | homme | m | person
woman/women | femme | f | person
boy | garçon | m | person
girl | fille | f | person
child/children | enfant | m | person own
friend | ami | m | person own
teacher | professeur | m | person own
doctor | médecin | m | person own
student | étudiant | m | person own
actress/actresses | actrice | f | person
nurse | infirmière | f | person
lawyer | avocat | m | person own
queen | reine | f | person
police officer/police officers | policier | m | person
brother | frère | m | person kin
sister | sœur | f | person kin
uncle | oncle | m | person kin
mother | mère | f | person kin single
father | père | m | person kin single
grandmother | grand-mère | f | person kin single
dog | chien | m | animal own
cat | chat | m | animal own
horse | cheval/chevaux | m | animal own
bird | oiseau/oiseaux | m | animal
mouse/mice | souris | f | animal
hedgehog | hérisson | m | animal
apple | pomme | f | food piece
potato/potatoes | pomme de terre/pommes de terre | f | food piece
cake | gâteau/gâteaux | m | food piece dish
egg | œuf | m | food piece
orange | orange | f | food piece
onion | oignon | m | food piece
bean | haricot | m | food piece
bread | pain | m | food mass dish
meat | viande | f | food mass
ice cream | glace | f | food mass
soup | soupe | f | food mass dish
water | eau | f | drink mass
milk | lait | m | drink mass
coffee | café | m | drink mass dish
orange juice | jus d' orange | m | drink mass | 1-0 0p1 1p1 0-2
book | livre | m | text thing
letter | lettre | f | text
newspaper | journal/journaux | m | text
story/stories | histoire | f | tale
word | mot | m | word
name | nom | m | word
key | clé | f | thing
bag | sac | m | thing container
umbrella | parapluie | m | thing
gift | cadeau/cadeaux | m | thing
knife/knives | couteau/couteaux | m | thing
bottle | bouteille | f | thing container
axe | hache | f | thing
picture | photo | f | thing view
box/boxes | boîte | f | thing container
table | table | f | furniture
chair | chaise | f | furniture
bed | lit | m | furniture
lamp | lampe | f | device
computer | ordinateur | m | device
phone | téléphone | m | device
door | porte | f | opening
window | fenêtre | f | opening
shirt | chemise | f | clothes
dress/dresses | robe | f | clothes
hat | chapeau/chapeaux | m | clothes
shoe | chaussure | f | clothes
car | voiture | f | vehicle
bus/buses | bus | m | ride
train | train | m | ride
bicycle | vélo | m | cycle
house | maison | f | place building inside
garden | jardin | m | place inside
kitchen | cuisine | f | room inside
living room/living rooms | salon | m | room inside
park | parc | m | place inside public
forest | forêt | f | place inside public
school | école | f | place building goal
station | gare | f | place goal public
market | marché | m | place goal public
hospital | hôpital/hôpitaux | m | place building goal public
hotel | hôtel | m | place building goal
museum | musée | m | place building goal public
church/churches | église | f | place building goal public
beach/beaches | plage | f | place top public
tree | arbre | m | nature public
flower | fleur | f | nature
star | étoile | f | sky view public
idea | idée | f | thought
question | question | f | matter
answer | réponse | f | matter
problem | problème | m | matter thought
lesson | leçon | f | lesson matter
song | chanson | f | tune
movie | film | m | show
game | jeu/jeux | m | show
"""

# english | french | f if feminine | kind | links
_NAMES = """
Paul | Paul | m | person
Marie | Marie | f | person
Anna | Anna | f | person
Lucas | Lucas | m | person
Julie | Julie | f | person
Peter | Pierre | m | person
Paris | Paris | m | city
London | Londres | m | city
Rome | Rome | m | city
Lisbon | Lisbonne | m | city
France | France | f | country
Italy | Italie | f | country
Spain | Espagne | f | country
Japan | Japon | m | country
Canada | Canada | m | country
French | français | m | language
English | anglais | m | language
Italian | italien | m | language
everybody | tout le monde | m | anyone
someone | quelqu' un | m | anyone
nobody | personne | m | negative
nothing | rien | m | negative
who | qui | m | question
what | que | m | question
"""

# english [particle] | french | objects: classes or nouns | flags:
#   stative: no progressive, no adverbs; imperfect: the simple past is an imparfait; fixed: base and past are
#   spelt alike, so no simple past; generic: bare objects take the definite article; nounal: no pronoun as its
#   object; separable: a pronoun stands before the particle; animal: animals do it too; nowhere: not said with
#   a place; unwilled: nobody wants it or is told to do it; skill: one knows how to do it; slow, care, quiet,
#   well, alot: the adverbs of manner that it takes
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

# english | french | objects | flags: what is given to somebody
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

# what somebody is, or the weather is: english | french verb | french noun | "self" or "weather"
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

# english | french | links | flags: the tenses; "front": goes to the front in French
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
#   mid: before the English verb; any, perfect: in other tenses; slow, care, quiet, well, alot: of manner,
#   with verbs of the same flag; early: before a French participle; late: after the French object; degree:
#   with adjectives
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

# preposition | where persons and animals are, where things are: classes or nouns
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

NOUNS: tuple[Noun, ...] = tuple(noun(row) for row in rows(_NOUNS, 5))
NAMES: tuple[Name, ...] = tuple(Name(pair(r[0], r[1]), r[2] == "f", r[3]) for r in rows(_NAMES, 4))
PRONOUNS: dict[str, Pronoun] = {
    "I": Pronoun(("I", "me"), 0, "je", "me", "me", "moi"),
    "you": Pronoun(("you", "you"), 1, "tu", "te", "te", "toi"),
    "he": Pronoun(("he", "him"), 2, "il", "le", "lui", "lui"),
    "she": Pronoun(("she", "her"), 2, "elle", "la", "lui", "elle", True),
    "it": Pronoun(("it", "it"), 2, "il", "le", "lui", "lui"),
    "it-f": Pronoun(("it", "it"), 2, "elle", "la", "lui", "elle", True),
    "we": Pronoun(("we", "us"), 3, "nous", "nous", "nous", "nous"),
    "they": Pronoun(("they", "them"), 5, "ils", "les", "leur", "eux"),
    "they-f": Pronoun(("they", "them"), 5, "elles", "les", "leur", "elles", True),
    "there": Pronoun(("there", "there"), 2, "il", "", "", ""),
    "this": Pronoun(("this", "this"), 2, "ce", "", "", ""),
    "these": Pronoun(("these", "these"), 5, "ce", "", "", ""),
}


def of_classes(classes: str) -> tuple[Noun | Name, ...]:
    """Nouns and names of any of the classes, or nouns named themselves, in the order of the tables."""
    wanted = set(classes.split())
    heads: list[Noun | Name] = [
        entry for entry in NOUNS if entry.classes & wanted or entry.forms[0].english[0] in wanted
    ]
    heads += [entry for entry in NAMES if entry.kind in wanted]
    return tuple(heads)


def _verbs(table: str, frame: str = "") -> tuple[Verb, ...]:
    """The verbs of a table; those that take persons as objects get the flag `somebody`, all get `frame`."""
    verbs = []
    for row in rows(table, 4):
        somebody = " somebody" if "person" in row[2].split() else ""
        verbs.append(verb([*row[:3], f"{row[3]} {frame}{somebody}"], of_classes(row[2])))
    return tuple(verbs)


def _adverbials(table: str) -> tuple[Adverbial, ...]:
    return tuple(Adverbial(pair(r[0], r[1], r[2]), frozenset(r[3].split())) for r in rows(table, 4))


def _modal(row: list[str]) -> Modal:
    flags = row[3].split()
    return Modal(
        english_forms(row[0]), flags[0], tuple(row[2].split()), conjugate(row[1]), row[4], frozenset(flags)
    )


TRANSITIVE = _verbs(_TRANSITIVE)
DITRANSITIVE = _verbs(_DITRANSITIVE, "given")
INTRANSITIVE = _verbs(_INTRANSITIVE)
MODALS = tuple(_modal(row) for row in rows(_MODALS, 5))
ADJECTIVES: tuple[Adjective, ...] = tuple(adjective(row) for row in rows(_ADJECTIVES, 4))
STATES = tuple(State(r[0], conjugate(r[1]), r[2], r[3]) for r in rows(_STATES, 4))
BE = verb(["be/was/been", "être", "", "stative imperfect"], ())
RAIN = verb(["rain", "pleuvoir", "", ""], ())
SNOW = verb(["snow", "neiger", "", ""], ())
MISS = verb(["miss", "manquer à", "person", "stative swapped somebody"], of_classes("person"))
SAYING = _verbs(_SAYING)
TIMES = _adverbials(_TIMES)
ADVERBS = _adverbials(_ADVERBS)
QUANTITIES = _adverbials(_QUANTITIES)
WORDS = _adverbials(_WORDS)
WORD: dict[str, Adverbial] = {" ".join(word.pair.english): word for word in WORDS if "ask" not in word.flags}
PLACES = tuple((WORD[r[0]], of_classes(r[1]), of_classes(r[2])) for r in rows(_PLACES, 3))
