def shortest(graph, start, end):
    """The fewest steps from start to end, or None."""
    seen = {start: None}
    queue = [start]
    for node in queue:
        if node == end:
            break
        for neighbour in graph.get(node, []):
            if neighbour not in seen:
                seen[neighbour] = node
                queue.append(neighbour)
    if end not in seen:
        return None
    path = [end]
    while seen[path[-1]] is not None:
        path.append(seen[path[-1]])
    return path[::-1]


print(shortest({"a": ["b", "c"], "b": ["d"], "c": ["d"]}, "a", "d"))
