"""Fifty-nine short documents that the browser tests search, with metadata; two of them try to break out of the page."""

from chamfer.data.documents import Document

_TEXTS: dict[str, dict[str, str]] = {
    "health": {
        "bone-density": "Osteoporosis makes bones brittle. Exercise that loads the hips and the spine slows the loss.",
        "calcium": "Calcium and vitamin D keep bones strong in old age; milk, kale and sardines are good sources.",
        "hip-fracture": "After a fracture of the hip most patients walk again within three months if they train daily.",
        "fall-prevention": "Falls in the elderly are prevented by good light, firm shoes and exercises for balance.",
        "menopause": "After the menopause less oestrogen is made, and the density of bone falls year by year.",
        "aspirin": "Aspirin thins the blood. It helps against heart attacks in those who had one, and harms others.",
        "migraine": "What helps against migraine differs from person to person: sleep, dark rooms, triptans.",
        "hay-fever": "Against hay fever, antihistamines help within the hour and nasal sprays within a week.",
        "vaccines-autism": "Large studies of more than a million children found no link between vaccines and autism.",
        "insomnia": "Poor sleep is treated with fixed hours, no screens at night, and only rarely with pills.",
        "blood-pressure": "High blood pressure is lowered by less salt, more walking and, where that fails, medicine.",
        "diabetes": "In type 2 diabetes the body answers insulin poorly; weight loss can undo it for years.",
        "garlic-myth": "Garlic does not help against the common cold, whatever the old books of remedies say.",
    },
    "computing": {
        "threads-join": "Start several threads, keep them in a list, and join each of them to wait for all to end.",
        "thread-pool": "A pool runs many tasks on a few threads and gives back a future for each of them.",
        "read-lines": "Iterate over an open file to read it line by line; only one line is in memory at a time.",
        "memory-map": "A memory-mapped file is read as if it were an array, without loading all of it.",
        "time-zones": "Dates with time zones are compared as instants; convert both to UTC when in doubt.",
        "sorting": "A stable sort keeps equal items in the order that they had before.",
        "hash-table": "A hash table finds an entry in constant time unless many keys fall into one slot.",
        "deadlock": "Two threads that each wait for the lock of the other never wake: that is a deadlock.",
        "unicode": "Naïve cafés 🚲🇳🇱 sell crème brûlée: letters, accents and emoji are counted in code points.",
        "garbage": "A garbage collector frees what can no longer be reached, at moments that nobody chooses.",
        "script": "A page that shows <script>window.broken = true</script> as text has escaped the tags, as it must.",
        "markup": 'An image <img src=x onerror="window.broken = true"> in a text is text and nothing else.',
        "regex": "A regular expression that nests repetition may take exponential time on a string without a match.",
    },
    "cycling": {
        "bicycle-history": "The history of the bicycle in the Netherlands begins with wooden machines without pedals.",
        "bike-lanes": "Cities that built separate lanes for bicycles saw more people ride and fewer of them hurt.",
        "helmets": "Helmets lower the risk of head injury in a crash; laws that demand them lower how many ride.",
        "chain-care": "A chain that is cleaned and oiled every few hundred kilometres lasts twice as long.",
        "puncture": "To mend a puncture, find the hole with water, roughen the rubber, and press the patch on.",
        "tour": "The tour of the Alps climbs nine passes in six days, with a rest by the lake.",
        "e-bike": "An electric bicycle helps against headwind and hills, and its riders travel further than others.",
    },
    "kitchen": {
        "sourdough": "Sourdough rises slowly: wild yeast needs a warm kitchen and a night of rest.",
        "rice": "Rinse rice until the water is clear, then cook it in one and a half times its volume.",
        "brittle": "Peanut brittle is sugar cooked to a hard crack and poured thin over nuts.",
        "bone-broth": "Bones simmered for a day give a broth that sets when it is cold.",
        "onions": "Onions brown evenly when they are cut thin, salted and left in peace over low heat.",
        "kale": "Kale is massaged with salt and lemon until it is soft enough to be eaten raw.",
        "knife": "A sharp knife is safer than a blunt one, because it does not slip.",
        "coffee": "Coffee ground too fine tastes bitter, and ground too coarse it tastes of little.",
    },
    "sky": {
        "moon": "The same side of the moon always faces the earth, since it turns once in each orbit.",
        "eclipse": "In a total eclipse of the sun the corona is seen with the naked eye for a few minutes.",
        "mars": "Mars has the tallest volcano of the planets and dust storms that hide it for weeks.",
        "sky-blue": "The sky is blue because air scatters short waves of light more than long ones.",
        "black-hole": "Nothing leaves a black hole once it is past the horizon, not even light.",
        "tides": "Tides follow the moon and, less, the sun; both pull together at new and at full moon.",
        "comet": "A comet grows its tail near the sun, and the tail points away from it.",
    },
    "garden": {
        "slugs": "Against slugs, copper rings and evening walks with a torch help more than beer.",
        "compost": "Compost needs brown and green matter, air and water, and is ready when it smells of forest.",
        "roses": "Roses are cut above a bud that looks outward, at the end of winter.",
        "tomatoes": "Tomatoes want sun, a stake and water at the root, never on the leaves.",
        "bees": "Bees find flowers that bloom early in the year on willow and hazel.",
        "soil": "Heavy soil is opened with sand and leaf mould, and by not walking on it.",
    },
    "law": {
        "tenancy": "A tenant may leave with three months' notice, in writing, whatever the contract says.",
        "copyright": "Copyright ends seventy years after the death of the author, and then the work is free.",
        "warranty": "The seller answers for faults that show within two years; in the first, the buyer proves nothing.",
        "noise": "Between ten at night and six in the morning no noise may leave the house.",
    },
}

_LONG = (
    "The museum keeps the archive of a village doctor who practised for fifty years. "
    + "Most of his pages are about weather, births and the price of hay. " * 9
    + "Only one entry, of 1931, asks what helps against osteoporosis, and answers: sunlight, fish and dancing. "
    + "The rest of the volume lists debts that were never paid, and the names of his horses. " * 9
)

DOCUMENTS = [
    Document(name, text, metadata={"topic": topic, "year": 1990 + 3 * number % 35})
    for topic, texts in _TEXTS.items()
    for number, (name, text) in enumerate(texts.items())
] + [Document("village-doctor", _LONG, metadata={"topic": "history", "year": 1931})]
