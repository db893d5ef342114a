#include <stdlib.h>

struct node {
    int value;
    struct node *next;
};

/* Puts a value in front of the list. */
struct node *push(struct node *head, int value) {
    struct node *n = malloc(sizeof *n);
    if (n == NULL)
        return head;
    n->value = value;
    n->next = head;
    return n;
}

int sum(const struct node *n) {
    int total = 0;
    for (; n != NULL; n = n->next)
        total += n->value;
    return total;
}
