"""The lexicon of nouns, names and pronouns: an entry on each line, its fields between bars."""

from translate.grammar.entries import Name, Noun, Pronoun, noun, pair, rows

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
    """Nouns and names of any of the classes, and nouns named themselves, in the order of the tables."""
    wanted = set(classes.split())
    heads: list[Noun | Name] = [
        entry for entry in NOUNS if entry.classes & wanted or entry.forms[0].english[0] in wanted
    ]
    heads += [entry for entry in NAMES if entry.kind in wanted]
    return tuple(heads)
