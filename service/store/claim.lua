-- Overdue games, each to one of the workers that ask: what is handed out comes up again only after the lease.
--
-- KEYS  the index of deadlines     ARGV  1 lease in ms   2 how many at most
-- Returns the ids. A worker that dies with one loses nothing: the lease runs out.

local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%d', now_ms), 'LIMIT', 0, ARGV[2])
for _, id in ipairs(due) do
  redis.call('ZADD', KEYS[1], string.format('%d', now_ms + ARGV[1]), id)
end
return due
