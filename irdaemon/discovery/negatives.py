"""Negatives: ordinary requests that few corpora answer, to calibrate floors with.

They are of many kinds and lengths on purpose: chat, general knowledge, everyday help, errands,
shell and programming questions, sums and writing. A corpus that does answer some of them loses
little: a floor depends on what most of them reach.
"""

from __future__ import annotations

from collections.abc import Iterator

REQUESTS: tuple[str, ...] = tuple(
    """what is the capital of australia
how do vaccines work
write a short poem about autumn
who won the world cup in 1998
explain the causes of the first world war
how long should i boil an egg
why is the sky blue
tell me a joke about cats
what is the meaning of life
recommend a good book for a rainy afternoon
how can i fall asleep faster
what should i wear to a wedding in summer
how do i get a red wine stain out of a carpet
my neighbour plays loud music at night, what can i say to him
what are the symptoms of a cold
how many calories are in a banana
translate good morning into italian
what is the difference between affect and effect
give me ideas for a birthday party for a six year old
how do planes stay in the air
what was the name of the dog in that film
is it better to rent or to buy a house
how do i ask my boss for a raise
name three rivers in south america
what is the square root of 144
who painted the mona lisa
how do i change a flat tyre
what does a mortgage broker do
how to train a puppy not to bite
when should i plant tomatoes
list all files larger than one megabyte in a directory
find every line in a log that holds the word error
rename all jpg files to lower case
count the words in a text file
kill the process that listens on port 8080
show the disk space used by each folder
copy a folder to another machine over ssh
print the third column of a csv file
replace tabs by spaces in all source files
schedule a script to run every monday at nine
reverse a linked list in c
what is the time complexity of quicksort
explain the difference between a process and a thread
why does my loop never end
how do i centre a div
write a function that checks whether a number is prime
merge two branches and keep both histories
undo my last commit
write an apology to a customer whose parcel was late
summarise the plot of hamlet
what would happen if the moon disappeared
should i feel guilty about quitting my job
how do magnets work
what is photosynthesis
describe the taste of a mango
who was the first person on the moon
how tall is mount everest
what is inflation
is it safe to eat raw salmon
how often should i water a cactus
what time is it in tokyo
what is the weather like today
book me a table for two tonight
play some relaxing music
set an alarm for seven
remind me to call my mother tomorrow
how much is fifty dollars in euros
find a cheap flight to lisbon
what are the latest headlines
send a message to anna that i am late
turn off the lights in the kitchen
what films are on this weekend
order a large pizza
track my parcel
find a hotel near the station
plan a three day trip to rome
what stretches help against back pain
how do i write a cover letter
what is a black hole
explain gravity to a child
what is the tallest building in the world
who invented the telephone
how does a bill become a law
what is the best way to learn the guitar
how do i remove a virus from my laptop
why do cats purr
how do i forgive someone
can you help me with my homework
what colour goes well with navy
is honesty always the best policy
how is cheese made
compare two phones for me
what is the plural of octopus
how do i start a garden
what was the ancient city of troy
how do i fold a fitted sheet
what is the fastest animal
how many bones are in the human body
who wrote pride and prejudice
thanks, that is all for today
yes please go on
no, try again
that did not work
hello there""".splitlines()
)


def negatives() -> Iterator[str]:
    """Yield the requests alone, then in twos and fours: long queries are negatives too."""
    yield from REQUESTS
    for together, step in ((2, 2), (4, 3)):
        for first in range(0, len(REQUESTS), step):
            places = ((first * (1 + 2 * n) + 7 * n) % len(REQUESTS) for n in range(together))
            yield ". ".join(REQUESTS[place] for place in places)
