#include <ctype.h>
#include <stdio.h>

int main(int argc, char **argv) {
    FILE *in = argc > 1 ? fopen(argv[1], "r") : stdin;
    long words = 0, lines = 0;
    int c, inside = 0;

    if (!in) {
        perror(argv[1]);
        return 1;
    }
    while ((c = getc(in)) != EOF) {
        if (c == '\n')
            lines++;
        if (isspace(c))
            inside = 0;
        else if (!inside) {
            inside = 1;
            words++;
        }
    }
    printf("%ld lines, %ld words\n", lines, words);
    return 0;
}
